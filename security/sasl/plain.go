package sasl

import (
	"crypto/subtle"
	"fmt"
	"strings"
)

// plainClass holds the users of PLAIN: user_alice="password". Other classes in its place have none.
const plainClass = "org.apache.kafka.common.security.plain.PlainLoginModule"

// plain is PLAIN, RFC 4616. Kafka: PlainSaslServer, PlainServerCallbackHandler.
type plain struct{ users Module }

func (p *plain) step(token []byte) (reply []byte, who *identity, err error) {
	parts := strings.SplitN(string(token), "\x00", 4)
	if len(parts) != 3 {
		return nil, nil, refused("Invalid SASL/PLAIN response: expected 3 tokens, got %d", len(parts))
	}
	as, user, password := parts[0], parts[1], parts[2]
	switch {
	case user == "":
		return nil, nil, refused("Authentication failed: username not specified")
	case password == "":
		return nil, nil, refused("Authentication failed: password not specified")
	case !p.knows(user, password):
		return nil, nil, refused("Authentication failed: Invalid username or password")
	case as != "" && as != user:
		return nil, nil, refused("Authentication failed: Client requested an authorization id that is different from username")
	}
	return []byte{}, &identity{name: user}, nil
}

func (p *plain) knows(user, password string) bool {
	want, ok := p.users.Options["user_"+user]
	return ok && p.users.Class == plainClass && subtle.ConstantTimeCompare([]byte(want), []byte(password)) == 1
}

// Error is a refusal whose text is meant for the client. Kafka: SaslAuthenticationException.
type Error struct{ text string }

func (e *Error) Error() string { return e.text }

func refused(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }
