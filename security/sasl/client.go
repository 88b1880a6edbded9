package sasl

import (
	"errors"
	"fmt"
	"time"
)

// clientSide is one exchange as the one that proves itself sees it.
type clientSide interface {
	first() []byte
	// next answers a challenge; done tells that nothing is left to be said.
	next(challenge []byte) (token []byte, done bool, err error)
}

// Login is a mechanism with the user and password of a JAAS entry.
type Login struct {
	Mechanism string
	exchange  func() clientSide
}

// NewLogin reads the user of a JAAS entry: username="admin" password="secret".
func NewLogin(mechanism string, m Module) (Login, error) {
	user, password := m.Options["username"], m.Options["password"]
	l := Login{Mechanism: mechanism}
	switch mechanism {
	case Plain:
		l.exchange = func() clientSide { return plainClient(user + "\x00" + password) }
	case ScramSHA256, ScramSHA512:
		l.exchange = func() clientSide { return &scramClient{mechanism: mechanism, user: user, password: password} }
	case OAuthBearer:
		if user = m.Options["unsecuredLoginStringClaim_sub"]; user == "" {
			return l, errors.New("unsecuredLoginStringClaim_sub of OAUTHBEARER is not in its JAAS entry: brokers have no other tokens")
		}
		l.exchange = func() clientSide { return bearerClient{sub: user, now: time.Now} }
		return l, nil
	default:
		return l, fmt.Errorf("mechanism %s between brokers is not supported", mechanism)
	}
	if user == "" || password == "" {
		return l, fmt.Errorf("username and password of %s are not in its JAAS entry", mechanism)
	}
	return l, nil
}

// Begin starts an exchange with its first token.
func (l Login) Begin() (c *Client, first []byte) {
	c = &Client{l.exchange()}
	return c, c.side.first()
}

// Client is what a broker proves itself with to another, in one exchange. Kafka: SaslClientAuthenticator.
type Client struct{ side clientSide }

// Next answers a challenge of the server; nil when there is nothing to be said any more.
func (c *Client) Next(challenge []byte) ([]byte, error) {
	token, done, err := c.side.next(challenge)
	if done {
		token = nil
	}
	return token, err
}

// plainClient is all that PLAIN has to say.
type plainClient string

func (p plainClient) first() []byte { return []byte("\x00" + string(p)) }

func (p plainClient) next([]byte) (token []byte, done bool, err error) { return nil, true, nil }
