package ssl

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// otherKey is a key with a certificate that it has signed itself, with the common name only.
func otherKey(t *testing.T) (key, chain *string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "other.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(kind string, b []byte) *string {
		return of(string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b})))
	}
	return encode("PRIVATE KEY", pkcs8), encode("CERTIFICATE", der)
}

// keytool writes only a common name unless it is told otherwise: Java takes it for the name of the host.
func TestContext_Client_CommonNameForLackOfOthers(t *testing.T) {
	key, chain := otherKey(t)
	own := load(t, settings(func(s *Settings) {
		s.KeystoreType, s.KeystoreLocation, s.KeystorePassword, s.KeystoreKey, s.KeystoreCertificateChain = "PEM", nil, nil, key, chain
		s.TruststoreType, s.TruststoreLocation, s.TruststoreCertificates = "PEM", nil, chain
	}))
	for host, good := range map[string]bool{"other.example": true, "another.example": false, "127.0.0.1": false} {
		_, _, err := shake(t, own.Server(), own.Client(host))
		if (err == nil) != good {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestSource_Replace_CountsForTheNextConnection(t *testing.T) {
	s := NewSource(load(t, settings()))
	server := &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.Server(), nil }}
	client := s.Client("localhost")
	if _, _, err := shake(t, server, client); err != nil {
		t.Fatal(err)
	}
	key, chain := otherKey(t)
	s.Replace(load(t, settings(func(s *Settings) {
		s.KeystoreType, s.KeystoreLocation, s.KeystorePassword, s.KeystoreKey, s.KeystoreCertificateChain = "PEM", nil, nil, key, chain
	})))
	if _, _, err := shake(t, server, client); err == nil {
		t.Error("the old key was shown")
	}
}
