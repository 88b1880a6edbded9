package keystore

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"fmt"
	"slices"
)

// The types of stores, as ssl.keystore.type and ssl.truststore.type name them.
const (
	JKS    = "JKS"
	PKCS12 = "PKCS12"
	PEM    = "PEM"
)

// Entry is a private key with the certificates that lead from its own to a root.
type Entry struct {
	Alias string
	Key   crypto.Signer
	// Chain begins with the certificate of Key and has at least that.
	Chain []*x509.Certificate
}

// Store is the content of a key store. Kafka: DefaultSslEngineFactory.SecurityStore.
type Store struct {
	Entries []Entry
	// Trusted are the certificates that stand in the store by themselves.
	Trusted []*x509.Certificate
}

// Anchors are the certificates that the store makes trusted: those that stand by themselves, and those of its own keys, as
// Java has it.
func (s *Store) Anchors() []*x509.Certificate {
	out := slices.Clone(s.Trusted)
	for _, e := range s.Entries {
		out = append(out, e.Chain[0])
	}
	return out
}

// Passwords protect a store. A nil Store lets a store of certificates be read without the check that nobody has changed it;
// a nil Key is the same as Store.
type Passwords struct {
	Store, Key *string
}

func (p Passwords) key() string {
	if p.Key != nil {
		return *p.Key
	}
	return p.store()
}

func (p Passwords) store() string {
	if p.Store != nil {
		return *p.Store
	}
	return ""
}

// jksMagic begins a JKS.
var jksMagic = []byte{0xfe, 0xed, 0xfe, 0xed}

// Parse reads a JKS or PKCS12 store. Which of the two it is, is seen in the data: as in Java either may be found under
// either name.
func Parse(kind string, data []byte, p Passwords) (*Store, error) {
	switch {
	case kind != JKS && kind != PKCS12:
		return nil, fmt.Errorf("type %s of a key store is not supported: use JKS, PKCS12 or PEM", kind)
	case bytes.HasPrefix(data, jksMagic):
		return parseJKS(data, p)
	default:
		return parsePKCS12(data, p)
	}
}

// signer narrows a parsed private key to what TLS needs.
func signer(key any) (crypto.Signer, error) {
	s, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a private key of type %T cannot sign", key)
	}
	return s, nil
}

// belongs tells whether a certificate is that of a key.
func belongs(c *x509.Certificate, key crypto.Signer) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.PublicKey)
}
