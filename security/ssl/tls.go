package ssl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"jackdaw/security"
	"jackdaw/security/keystore"
)

// Server is the configuration for accepted connections. It must not be changed.
func (c *Context) Server() *tls.Config { return c.server }

func (c *Context) serverConfig(base *tls.Config) *tls.Config {
	out := base.Clone()
	out.Certificates = certificates(c.keys)
	out.ClientCAs = c.roots
	switch c.settings.ClientAuth {
	case "required":
		out.ClientAuth = tls.RequireAndVerifyClientCert
	case "requested":
		out.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return out
}

func certificates(s *keystore.Store) []tls.Certificate {
	if s == nil {
		return nil
	}
	var out []tls.Certificate
	for _, e := range s.Entries {
		c := tls.Certificate{PrivateKey: e.Key, Leaf: e.Chain[0]}
		for _, x := range e.Chain {
			c.Certificate = append(c.Certificate, x.Raw)
		}
		out = append(out, c)
	}
	return out
}

// Client is the configuration for connections to another broker. Names are checked as Java does it: a certificate without
// any DNS name stands for its common name.
func (c *Context) Client(host string) *tls.Config {
	out := c.server.Clone()
	out.ClientAuth, out.ClientCAs = tls.NoClientCert, nil
	out.ServerName = host
	out.InsecureSkipVerify = true //nolint:gosec // VerifyConnection does it, with Java's rule for names
	out.VerifyConnection = func(s tls.ConnectionState) error {
		if err := c.verify(s.PeerCertificates, x509.ExtKeyUsageServerAuth); err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: s.PeerCertificates, Err: err}
		}
		if c.settings.EndpointIdentification == "" {
			return nil
		}
		return verifyHost(s.PeerCertificates[0], host)
	}
	return out
}

// verify checks that a chain leads to what the context trusts.
func (c *Context) verify(chain []*x509.Certificate, usage x509.ExtKeyUsage) error {
	if len(chain) == 0 {
		return errors.New("the peer has no certificate")
	}
	o := x509.VerifyOptions{Roots: c.roots, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{usage}}
	for _, i := range chain[1:] {
		o.Intermediates.AddCert(i)
	}
	_, err := chain[0].Verify(o)
	return err
}

// verifyHost is RFC 2818 with the common name where no DNS name is there. Java: HostnameChecker.
func verifyHost(c *x509.Certificate, host string) error {
	named := *c
	if len(c.DNSNames) == 0 && c.Subject.CommonName != "" {
		named.DNSNames = []string{c.Subject.CommonName}
	}
	return named.VerifyHostname(host)
}

// Principal is who a client is by its certificate; without one nobody in particular.
// Kafka: DefaultKafkaPrincipalBuilder.build, SslAuthenticationContext.
func (c *Context) Principal(s tls.ConnectionState) (security.Principal, error) {
	if len(s.PeerCertificates) == 0 {
		return security.Anonymous, nil
	}
	dn := DN(s.PeerCertificates[0])
	name, err := c.mapper.Name(dn)
	if err != nil {
		return security.Anonymous, fmt.Errorf("Failed to map name for '%s' based on SSL principal mapping rules", dn)
	}
	return security.User(name), nil
}
