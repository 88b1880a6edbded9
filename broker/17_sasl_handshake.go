package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
)

// SaslHandshake (17), v0-1. Kafka: SaslServerAuthenticator.handleHandshakeRequest. It belongs to authentication: on a listener without, or
// at another time, the answer is ILLEGAL_SASL_STATE.   Pipelined: no.   Cost: none.
func (b *Broker) handleSASLHandshake(r *network.Request) {
	req := r.Body.(*kmsg.SASLHandshakeRequest)
	resp := req.ResponseKind().(*kmsg.SASLHandshakeResponse)
	resp.SupportedMechanisms = []string{}
	if r.SASL == nil {
		resp.ErrorCode = kerr.IllegalSaslState.Code
		r.Respond(resp)
		return
	}
	all, err := r.SASL.Handshake(req.Mechanism, req.Version, r.Received)
	resp.SupportedMechanisms, resp.ErrorCode = all, protocol.ErrorCode(err)
	if err != nil {
		r.Refuse(resp, err)
		return
	}
	r.Respond(resp)
}
