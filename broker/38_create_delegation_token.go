package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
	"jackdaw/security"
)

// CreateDelegationToken (38), v0-3. Kafka: KafkaApis.handleCreateTokenRequest; KIP-48. Nobody can have a token where nobody has a name:
// without authentication the answer is DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.   Pipelined: no.   Cost: none.
func (b *Broker) handleCreateDelegationToken(r *network.Request) {
	resp := r.Body.ResponseKind().(*kmsg.CreateDelegationTokenResponse)
	resp.ErrorCode = protocol.ErrorCode(tokenRefusal(r))
	principal := r.Conn.Principal()
	resp.PrincipalType, resp.PrincipalName = principal.Type, principal.Name
	resp.TokenRequesterPrincipalType, resp.TokenRequesterPrincipalName = resp.PrincipalType, resp.PrincipalName
	resp.IssueTimestamp, resp.ExpiryTimestamp, resp.MaxTimestamp = -1, -1, -1
	resp.HMAC = []byte{}
	r.Respond(resp)
}

// tokenRefusal says why there are no delegation tokens. Kafka: KafkaApis.allowTokenRequests.
func tokenRefusal(r *network.Request) error {
	if r.Conn.Principal() == security.Anonymous {
		return kerr.DelegationTokenRequestNotAllowed
	}
	return kerr.DelegationTokenAuthDisabled
}
