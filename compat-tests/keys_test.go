//go:build compat

package compat

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	keystore "github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"
)

const storePassword = "store-secret"

// authority signs certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// identity is a private key with its certificate.
type identity struct {
	key *ecdsa.PrivateKey
	// chain begins with the certificate of key.
	chain []*x509.Certificate
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	a := &authority{key: newKey(t)}
	a.cert = a.sign(t, template, template, a.key)
	return a
}

// issue makes an identity for a name of Kafka's form CN=name,OU=clients; hosts make it a server's.
func (a *authority) issue(t *testing.T, name string, lasts time.Duration, hosts ...string) *identity {
	t.Helper()
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: name, OrganizationalUnit: []string{"clients"}},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(lasts),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	id := &identity{key: newKey(t)}
	id.chain = []*x509.Certificate{a.sign(t, template, a.cert, id.key), a.cert}
	return id
}

func (a *authority) sign(t *testing.T, template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

func (id *identity) pkcs8(t *testing.T) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(id.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// pem has the key and the chain.
func (id *identity) pem(t *testing.T) []byte {
	out := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: id.pkcs8(t)})
	for _, c := range id.chain {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}

func (id *identity) pkcs12(t *testing.T) []byte {
	t.Helper()
	out, err := pkcs12.Modern.Encode(id.key, id.chain[0], id.chain[1:], storePassword)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (id *identity) jks(t *testing.T) []byte {
	t.Helper()
	e := keystore.PrivateKeyEntry{CreationTime: time.Now(), PrivateKey: id.pkcs8(t)}
	for _, c := range id.chain {
		e.CertificateChain = append(e.CertificateChain, keystore.Certificate{Type: "X509", Content: c.Raw})
	}
	ks := keystore.New()
	if err := ks.SetPrivateKeyEntry("broker", e, []byte(storePassword)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := ks.Store(&out, []byte(storePassword)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// client is how a franz-go client shows an identity, nil for none, and whom it trusts.
func (a *authority) client(id *identity) *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	c := &tls.Config{RootCAs: roots, ServerName: "localhost"}
	if id != nil {
		own := tls.Certificate{PrivateKey: id.key}
		for _, x := range id.chain {
			own.Certificate = append(own.Certificate, x.Raw)
		}
		// Whatever CAs the broker asks for.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil }
	}
	return c
}

// writeFile writes into a directory and returns the path.
func writeFile(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
