package ssl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"jackdaw/security"
)

// Source is the present Context of a listener. Its methods are safe for concurrent use. Kafka: SslFactory.
type Source struct{ now atomic.Pointer[Context] }

// NewSource begins with a Context.
func NewSource(c *Context) *Source {
	s := &Source{}
	s.now.Store(c)
	return s
}

// Context is the present one.
func (s *Source) Context() *Context { return s.now.Load() }

// Replace makes a Context the present one: for connections from now on.
func (s *Source) Replace(c *Context) { s.now.Store(c) }

// Server is the configuration for an accepted connection.
func (s *Source) Server() *tls.Config { return s.now.Load().Server() }

// Principal is Context.Principal.
func (s *Source) Principal(state tls.ConnectionState) (security.Principal, error) {
	return s.now.Load().Principal(state)
}

// Client is the configuration for a connection to another broker.
func (s *Source) Client(host string) *tls.Config { return s.now.Load().Client(host) }

// Compatible tells whether next may take the place of c while connections are there. A name that changes without
// permission is more often a mistake than meant. Kafka: SslFactory.createNewSslEngineFactory.
func (c *Context) Compatible(next *Context) error {
	switch {
	case c.keys == nil && next.keys != nil:
		return errors.New("Cannot add SSL keystore to an existing listener for which no keystore was configured")
	case c.keys != nil && next.keys == nil:
		return errors.New("Cannot remove the SSL keystore from an existing listener for which a keystore was configured")
	case c.trust == nil && next.trust != nil:
		return errors.New("Cannot add SSL truststore to an existing listener for which no truststore was configured")
	case c.keys == nil:
		return nil
	}
	was, will := c.keys.Anchors(), next.keys.Anchors()
	if next.settings.AllowDNChanges && next.settings.AllowSANChanges {
		return nil
	}
	if len(was) != len(will) {
		return fmt.Errorf("Keystore entries do not match, existing store contains %d entries, new store contains %d entries", len(was), len(will))
	}
	for i := range was {
		if err := sameNames(was[i], will[i], &next.settings); err != nil {
			return err
		}
	}
	return nil
}

func sameNames(was, will *x509.Certificate, s *Settings) error {
	if x, y := DN(was), DN(will); !s.AllowDNChanges && !strings.EqualFold(x, y) {
		return fmt.Errorf("Keystore DistinguishedName does not match:  existing={DN=%s}, new={DN=%s}", x, y)
	}
	x, y := altNames(was), altNames(will)
	if !s.AllowSANChanges && slices.ContainsFunc(x, func(n string) bool { return !slices.Contains(y, n) }) {
		return fmt.Errorf("Keystore SubjectAltNames do not match:  existing={SAN=%v}, new={SAN=%v}", x, y)
	}
	return nil
}

func altNames(c *x509.Certificate) []string {
	out := slices.Concat(c.DNSNames, c.EmailAddresses)
	for _, ip := range c.IPAddresses {
		out = append(out, ip.String())
	}
	for _, u := range c.URIs {
		out = append(out, u.String())
	}
	return out
}

// Accepts tells whether a broker with this Context could connect to one with the other, so that brokers do not lose each
// other while keys are replaced one broker after the other. Names of hosts are not looked at. Kafka: SslEngineValidator.
func (c *Context) Accepts(other *Context) error {
	if other.keys == nil || len(other.keys.Entries) == 0 {
		return errors.New("there is no key that a broker could show another")
	}
	e := other.keys.Entries[0]
	if err := c.verify(e.Chain, x509.ExtKeyUsageServerAuth); err != nil {
		return fmt.Errorf("the certificate of the key store is not trusted by the trust store: %w", err)
	}
	return nil
}
