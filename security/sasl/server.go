package sasl

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/security"
)

// Mechanisms beside SCRAM.
const (
	Plain       = "PLAIN"
	OAuthBearer = "OAUTHBEARER"
	GSSAPI      = "GSSAPI"
)

// Settings are the sasl.* keys of one listener. Kafka: BrokerSecurityConfigs, SaslConfigs.
type Settings struct {
	// Mechanisms are those that clients may choose from.
	Mechanisms []string
	// JAAS has an entry for each mechanism.
	JAAS map[string]Module
	// MaxReauth is how long a session lasts without another authentication, by mechanism; 0 is for ever. KIP-368.
	MaxReauth map[string]time.Duration
	// MaxReceive bounds a request before authentication, in bytes.
	MaxReceive int
	// Tokens are for OAUTHBEARER.
	Tokens Tokens
	// Credential finds the SCRAM credential of a user.
	Credential func(mechanism, user string) (Credential, bool)
}

// identity is who an exchange has proven somebody to be.
type identity struct {
	name string
	// expires is when the proof loses its worth; zero is never.
	expires time.Time
}

// mechanism is one exchange of tokens. who is nil until it is over.
type mechanism interface {
	step(token []byte) (reply []byte, who *identity, err error)
}

type phase int

const (
	greeting  phase = iota // ApiVersions or SaslHandshake comes next
	proving                // tokens
	proven                 // everything
	reproving              // tokens again; the former identity stays until they are through
)

// Server authenticates the client of one connection, and again while that lives. Its owner is the connection's reader.
// Kafka: SaslServerAuthenticator.
type Server struct {
	s     *Settings
	phase phase
	// bare: tokens have no Kafka header, after SaslHandshake v0.
	bare     bool
	name     string // of the mechanism
	exchange mechanism
	who      security.Principal
	// expires is when the client must have authenticated again; zero is never.
	expires time.Time
	// reproved is when the last re-authentication began.
	reproved time.Time
	// wrong is the mechanism that a re-authentication has asked for in vain.
	wrong string
}

// NewServer begins with a client that has said nothing.
func NewServer(s *Settings) *Server { return &Server{s: s} }

// MaxReceive bounds the next request in bytes; ok is false when there is no bound but the usual one.
func (s *Server) MaxReceive() (n int, ok bool) { return s.s.MaxReceive, s.phase != proven }

// Bare tells that the next frame is a token as it stands.
func (s *Server) Bare() bool { return s.bare && (s.phase == proving || s.phase == reproving) }

// Proven tells whether the client may use the broker.
func (s *Server) Proven() bool { return s.phase == proven }

// Principal is who the client has proven to be.
func (s *Server) Principal() security.Principal { return s.who }

// minReproof is how often a client may authenticate again. Kafka: KafkaChannel.
const minReproof = time.Second

// Admit decides about a request by the key of its API. mine tells that it belongs to the authentication. An error is
// ILLEGAL_SASL_STATE; the connection must be closed. Kafka: SaslServerAuthenticator.handleKafkaRequest, Processor.
func (s *Server) Admit(key kmsg.Key, now time.Time) (mine bool, err error) {
	switch s.phase {
	case greeting:
		if key != kmsg.ApiVersions && key != kmsg.SASLHandshake {
			return true, fmt.Errorf("Unexpected Kafka request of type %s during SASL handshake.: %w", key.Name(), kerr.IllegalSaslState)
		}
		return true, nil
	case proving, reproving:
		if key != kmsg.SASLAuthenticate {
			return true, fmt.Errorf("Unexpected Kafka request of type %s during SASL authentication.: %w", key.Name(), kerr.IllegalSaslState)
		}
		return true, nil
	case proven:
	}
	if s.expires.IsZero() {
		return false, nil
	}
	if key == kmsg.SASLHandshake && now.Sub(s.reproved) >= minReproof {
		return true, nil
	}
	if now.After(s.expires) {
		return false, fmt.Errorf("the session has expired and the client has not authenticated again: %w", kerr.IllegalSaslState)
	}
	return false, nil
}

// Handshake chooses the mechanism. It returns those that there are. An error is UNSUPPORTED_SASL_MECHANISM.
func (s *Server) Handshake(name string, version int16, now time.Time) ([]string, error) {
	s.bare = version == 0
	if !slices.Contains(s.s.Mechanisms, name) {
		return s.s.Mechanisms, fmt.Errorf("Unsupported SASL mechanism %s: %w", name, kerr.UnsupportedSaslMechanism)
	}
	s.wrong = ""
	if s.phase == proven {
		s.phase, s.reproved = reproving, now
		if name != s.name {
			s.wrong = name
			return s.s.Mechanisms, nil
		}
	} else {
		s.phase = proving
	}
	s.name, s.exchange = name, s.s.begin(name)
	return s.s.Mechanisms, nil
}

// begin makes one side of an exchange; the mechanism is an enabled one.
func (s *Settings) begin(name string) mechanism {
	switch name {
	case ScramSHA256, ScramSHA512:
		return &scram{mechanism: name, find: s.Credential}
	case OAuthBearer:
		return &bearer{tokens: &s.Tokens, options: s.JAAS[name].Options, now: time.Now}
	default:
		return &plain{users: s.JAAS[name]}
	}
}

// Authenticate takes a token of the client. When Proven is true after it the exchange is over, and lifetime is how long
// the client has until it must authenticate again, 0 for ever. After an error the connection must be closed; the error's
// text for the client is in a Failure.
func (s *Server) Authenticate(token []byte, now time.Time) (reply []byte, lifetime time.Duration, err error) {
	if s.wrong != "" {
		return nil, 0, s.failure(refused("SASL mechanism '%s' requested by client is not supported for re-authentication of mechanism '%s'", s.wrong, s.name))
	}
	reply, who, err := s.exchange.step(token)
	if err != nil {
		return nil, 0, s.failure(err)
	}
	if who == nil {
		return reply, 0, nil
	}
	next := security.User(who.name)
	if s.phase == reproving && next != s.who {
		return nil, 0, s.failure(refused("Cannot change principals during re-authentication from %s.%s: %s.%s", s.who.Type, s.who.Name, next.Type, next.Name))
	}
	s.who, s.phase, s.exchange = next, proven, nil
	lifetime, s.expires = s.session(who.expires, now)
	return reply, lifetime, nil
}

// session bounds a session by the settings, and by what the credentials say of themselves.
func (s *Server) session(until, now time.Time) (time.Duration, time.Time) {
	lifetime := s.s.MaxReauth[s.name]
	switch {
	case until.IsZero() && lifetime <= 0:
		return 0, time.Time{}
	case !until.IsZero() && (lifetime <= 0 || until.Sub(now) < lifetime):
		lifetime = max(0, until.Sub(now))
	}
	return lifetime, now.Add(lifetime)
}

// Failure is an authentication that has failed: Text is for the client, and the error for the log.
type Failure struct {
	Text string
	err  error
}

func (f *Failure) Error() string { return f.err.Error() }

// Unwrap makes it SASL_AUTHENTICATION_FAILED, the cause beside.
func (f *Failure) Unwrap() []error { return []error{f.err, kerr.SaslAuthenticationFailed} }

// ClientMessage is what the client is told.
func (f *Failure) ClientMessage() string { return f.Text }

func (s *Server) failure(err error) error {
	var told *Error
	if errors.As(err, &told) {
		return &Failure{told.text, err}
	}
	what := "authentication"
	if s.phase == reproving {
		what = "re-authentication"
	}
	text := fmt.Sprintf("Authentication failed during %s due to invalid credentials with SASL mechanism %s", what, s.name)
	return &Failure{text, fmt.Errorf("%s: %w", text, err)}
}
