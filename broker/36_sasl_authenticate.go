package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
)

// SaslAuthenticate (36), v0-2. Kafka: SaslServerAuthenticator.handleSaslToken; KIP-152, KIP-368. See SaslHandshake.
// Pipelined: no.   Cost: a few hashes; a client that fails waits for connection.failed.authentication.delay.ms.
func (b *Broker) handleSASLAuthenticate(r *network.Request) {
	req := r.Body.(*kmsg.SASLAuthenticateRequest)
	resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	resp.SASLAuthBytes = []byte{}
	if r.SASL == nil {
		resp.ErrorCode = kerr.IllegalSaslState.Code
		resp.ErrorMessage = optional("SaslAuthenticate request received after successful authentication")
		r.Respond(resp)
		return
	}
	reply, lifetime, err := r.Prove(req.SASLAuthBytes)
	if err != nil {
		resp.ErrorCode, resp.ErrorMessage = protocol.ErrorCode(err), protocol.ErrorMessage(err)
		r.Refuse(resp, err)
		return
	}
	resp.SASLAuthBytes, resp.SessionLifetimeMillis = reply, lifetime.Milliseconds()
	r.Respond(resp)
}
