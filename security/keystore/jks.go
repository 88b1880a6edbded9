package keystore

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the digest of the format
	"crypto/x509"
	"fmt"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
)

// jksWhitener stands between the password and the content in the digest that ends a JKS.
const jksWhitener = "Mighty Aphrodite"

func parseJKS(data []byte, p Passwords) (*Store, error) {
	if p.Store == nil {
		data = resealed(data)
	}
	ks := keystore.New(keystore.WithOrderedAliases())
	if err := ks.Load(bytes.NewReader(data), []byte(p.store())); err != nil {
		return nil, fmt.Errorf("read JKS: %w", err)
	}
	out := &Store{}
	for _, alias := range ks.Aliases() {
		if ks.IsTrustedCertificateEntry(alias) {
			e, err := ks.GetTrustedCertificateEntry(alias)
			if err != nil {
				return nil, fmt.Errorf("read %s of the JKS: %w", alias, err)
			}
			c, err := x509.ParseCertificate(e.Certificate.Content)
			if err != nil {
				return nil, fmt.Errorf("read %s of the JKS: %w", alias, err)
			}
			out.Trusted = append(out.Trusted, c)
			continue
		}
		e, err := jksEntry(ks, alias, p)
		if err != nil {
			return nil, fmt.Errorf("read %s of the JKS: %w", alias, err)
		}
		out.Entries = append(out.Entries, e)
	}
	return out, nil
}

// jksEntry reads a key, or without a password its certificates only.
func jksEntry(ks keystore.KeyStore, alias string, p Passwords) (Entry, error) {
	out := Entry{Alias: alias}
	certificates, err := ks.GetPrivateKeyEntryCertificateChain(alias)
	if err != nil {
		return out, err
	}
	for _, c := range certificates {
		parsed, err := x509.ParseCertificate(c.Content)
		if err != nil {
			return out, err
		}
		out.Chain = append(out.Chain, parsed)
	}
	if len(out.Chain) == 0 {
		return out, errNoCertificate
	}
	if p.Store == nil && p.Key == nil {
		return out, nil
	}
	e, err := ks.GetPrivateKeyEntry(alias, []byte(p.key()))
	if err != nil {
		return out, err
	}
	key, err := x509.ParsePKCS8PrivateKey(e.PrivateKey)
	if err != nil {
		return out, err
	}
	out.Key, err = signer(key)
	return out, err
}

// resealed gives a JKS the digest of the empty password: without a password Java does not check the digest at all.
func resealed(data []byte) []byte {
	n := len(data) - sha1.Size
	if n < 0 {
		return data
	}
	h := sha1.New() //nolint:gosec // the digest of the format
	h.Write([]byte(jksWhitener))
	h.Write(data[:n])
	return h.Sum(bytes.Clone(data[:n]))
}
