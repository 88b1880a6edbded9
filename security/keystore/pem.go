package keystore

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/youmark/pkcs8"
)

// The blocks that PEM may hold. They are looser than RFC 7468, so that a key can stand on one line of server.properties.
// Kafka: DefaultSslEngineFactory.PemParser.
var (
	pemCertificate = pemBlocks(`CERTIFICATE`)
	pemKey         = pemBlocks(`PRIVATE\s+KEY`)
)

func pemBlocks(name string) *regexp.Regexp {
	return regexp.MustCompile(`-+BEGIN\s*[^-]*` + name + `[^-]*-+\s+(?:\s*[^\r\n]*:[^\r\n]*[\r\n]+)*([a-zA-Z0-9/+=\s]*)-+END\s*[^-]*` + name + `[^-]*-+\s+`)
}

// ParsePEMKey reads a private key in PKCS 8, encrypted if there is a password, and the certificates that go with it, the
// key's own first. The texts may be one and the same.
func ParsePEMKey(key, chain string, password *string) (*Store, error) {
	found, err := pemContents(pemKey, key)
	if err != nil {
		return nil, err
	}
	switch len(found) {
	case 0:
		return nil, errors.New("Private key not provided")
	case 1:
	default:
		return nil, fmt.Errorf("Expected one private key, but found %d", len(found))
	}
	e := Entry{Alias: "kafka"}
	if e.Chain, err = pemCertificates(chain); err != nil {
		return nil, err
	}
	parsed, err := parsePKCS8(found[0], password)
	if err != nil {
		return nil, fmt.Errorf("Private key could not be loaded: %w", err)
	}
	if e.Key, err = signer(parsed); err != nil {
		return nil, err
	}
	if !belongs(e.Chain[0], e.Key) {
		return nil, errNoCertificate
	}
	return &Store{Entries: []Entry{e}}, nil
}

func parsePKCS8(der []byte, password *string) (any, error) {
	if password == nil {
		return x509.ParsePKCS8PrivateKey(der)
	}
	key, _, err := pkcs8.ParsePrivateKey(der, []byte(*password))
	return key, err
}

// ParsePEMTrust reads trusted certificates.
func ParsePEMTrust(text string) (*Store, error) {
	trusted, err := pemCertificates(text)
	if err != nil {
		return nil, err
	}
	return &Store{Trusted: trusted}, nil
}

func pemCertificates(text string) ([]*x509.Certificate, error) {
	found, err := pemContents(pemCertificate, text)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("At least one certificate expected, but none found")
	}
	var out []*x509.Certificate
	for _, der := range found {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func pemContents(blocks *regexp.Regexp, text string) ([][]byte, error) {
	var out [][]byte
	for _, m := range blocks.FindAllStringSubmatch(text+"\n", -1) {
		der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(m[1]), ""))
		if err != nil {
			return nil, fmt.Errorf("PEM: %w", err)
		}
		out = append(out, der)
	}
	return out, nil
}
