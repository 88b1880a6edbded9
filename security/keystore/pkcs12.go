package keystore

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"software.sslmate.com/src/go-pkcs12"
)

var errNoCertificate = errors.New("there is no certificate of the private key")

// parsePKCS12 reads a store with one key, or with certificates that Java has marked as trusted.
func parsePKCS12(data []byte, p Passwords) (*Store, error) {
	trusted, notTrust := pkcs12.DecodeTrustStore(data, p.store())
	if notTrust == nil {
		return &Store{Trusted: trusted}, nil
	}
	parsed, first, rest, err := pkcs12.DecodeChain(data, p.store())
	if err != nil {
		return nil, fmt.Errorf("read PKCS12: %w", errors.Join(err, notTrust))
	}
	key, err := signer(parsed)
	if err != nil {
		return nil, fmt.Errorf("read PKCS12: %w", err)
	}
	all := append([]*x509.Certificate{first}, rest...)
	i := slices.IndexFunc(all, func(c *x509.Certificate) bool { return belongs(c, key) })
	if i < 0 {
		return nil, fmt.Errorf("read PKCS12: %w", errNoCertificate)
	}
	leaf := all[i]
	chain, others := chainOf(leaf, slices.Delete(all, i, i+1))
	return &Store{Entries: []Entry{{Key: key, Chain: chain}}, Trusted: others}, nil
}

// chainOf orders certificates from a key's own to its root. Those that do not belong there, or are there a second time, are
// what keytool has imported as trusted.
func chainOf(leaf *x509.Certificate, all []*x509.Certificate) (chain, others []*x509.Certificate) {
	chain = []*x509.Certificate{leaf}
	for {
		last := chain[len(chain)-1]
		i := slices.IndexFunc(all, func(c *x509.Certificate) bool {
			return bytes.Equal(c.RawSubject, last.RawIssuer) && last.CheckSignatureFrom(c) == nil
		})
		if i < 0 || bytes.Equal(last.RawSubject, last.RawIssuer) {
			return chain, all
		}
		chain = append(chain, all[i])
		all = slices.Delete(all, i, i+1)
	}
}
