package ssl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"jackdaw/security/keystore"
)

// Settings are the ssl.* keys of one listener. A nil string is a key that is not set. Kafka: SslConfigs.
type Settings struct {
	Protocol         string
	EnabledProtocols []string
	CipherSuites     []string
	// ClientAuth is none, requested or required.
	ClientAuth string
	// EndpointIdentification is https, or empty for no check of the name of a broker that is connected to.
	EndpointIdentification string

	KeystoreType             string
	KeystoreLocation         *string
	KeystorePassword         *string
	KeyPassword              *string
	KeystoreKey              *string
	KeystoreCertificateChain *string

	TruststoreType         string
	TruststoreLocation     *string
	TruststorePassword     *string
	TruststoreCertificates *string

	// PrincipalMappingRules make the name of a user of the subject of a client's certificate.
	PrincipalMappingRules string

	// AllowDNChanges and AllowSANChanges let a replaced key have other names.
	AllowDNChanges, AllowSANChanges bool
}

// Context is what settings have led to. Kafka: DefaultSslEngineFactory.
type Context struct {
	settings Settings
	// keys and trust are nil where there is no such store.
	keys, trust *keystore.Store
	// roots are the certificates of trust; nil is what the system trusts.
	roots  *x509.CertPool
	server *tls.Config
	mapper *Mapper
	files  map[string]stamp
}

// stamp tells one content of a file from another, as far as it can be seen from outside.
type stamp struct {
	modified time.Time
	size     int64
}

// Settings are what the Context was loaded from.
func (c *Context) Settings() Settings { return c.settings }

// Stale tells whether a file of the Context is another one now. Kafka: DefaultSslEngineFactory.shouldBeRebuilt.
func (c *Context) Stale() bool {
	return slices.ContainsFunc(c.settings.paths(), func(path string) bool {
		now, err := stampOf(path)
		return err == nil && now != c.files[path]
	})
}

func (s *Settings) paths() []string {
	var out []string
	for _, p := range []*string{s.KeystoreLocation, s.TruststoreLocation} {
		if p != nil {
			out = append(out, *p)
		}
	}
	return out
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.ModTime(), info.Size()}, nil
}

// Load reads the stores of settings. An error names the key or the file that is to blame.
func Load(s Settings) (*Context, error) {
	c := &Context{settings: s, files: map[string]stamp{}}
	for _, path := range s.paths() {
		c.files[path], _ = stampOf(path) // before it is read; that it is not there is found by who reads it
	}
	var err error
	if c.mapper, err = ParseMapper(s.PrincipalMappingRules); err != nil {
		return nil, fmt.Errorf("ssl.principal.mapping.rules: %w", err)
	}
	if c.keys, err = loadKeys(&s); err != nil {
		return nil, err
	}
	if c.trust, err = loadTrust(&s); err != nil {
		return nil, err
	}
	if c.trust != nil {
		anchors := c.trust.Anchors()
		if len(anchors) == 0 {
			return nil, errors.New("the trust store has no trusted certificate")
		}
		c.roots = x509.NewCertPool()
		for _, a := range anchors {
			c.roots.AddCert(a)
		}
	}
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	c.server = c.serverConfig(base)
	return c, nil
}

// loadKeys reads the key store, in any of the forms. Kafka: DefaultSslEngineFactory.createKeystore.
func loadKeys(s *Settings) (*keystore.Store, error) {
	pem := s.KeystoreType == keystore.PEM
	switch {
	case s.KeystoreKey != nil:
		switch {
		case !pem:
			return nil, fmt.Errorf("SSL private key can be specified only for PEM, but key store type is %s", s.KeystoreType)
		case s.KeystoreCertificateChain == nil:
			return nil, errors.New("SSL private key is specified, but certificate chain is not specified")
		case s.KeystoreLocation != nil:
			return nil, errors.New("Both SSL key store location and separate private key are specified")
		case s.KeystorePassword != nil:
			return nil, errors.New("SSL key store password cannot be specified with PEM format, only key password may be specified")
		}
		store, err := keystore.ParsePEMKey(*s.KeystoreKey, *s.KeystoreCertificateChain, s.KeyPassword)
		if err != nil {
			return nil, fmt.Errorf("Invalid PEM keystore configs: %w", err)
		}
		return store, nil
	case s.KeystoreCertificateChain != nil:
		return nil, errors.New("SSL certificate chain is specified, but private key is not specified")
	case s.KeystoreLocation == nil && s.KeystorePassword != nil:
		return nil, errors.New("SSL key store is not specified, but key store password is specified")
	case s.KeystoreLocation == nil:
		return nil, nil
	case pem && s.KeystorePassword != nil:
		return nil, errors.New("SSL key store password cannot be specified with PEM format, only key password may be specified")
	case !pem && s.KeystorePassword == nil:
		return nil, errors.New("SSL key store is specified, but key store password is not specified")
	}
	return s.keyFile(*s.KeystoreLocation, pem)
}

func (s *Settings) keyFile(path string, pem bool) (*keystore.Store, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("Failed to load SSL keystore %s of type %s: %w", path, s.KeystoreType, err)
	}
	var store *keystore.Store
	if pem {
		store, err = keystore.ParsePEMKey(string(data), string(data), s.KeyPassword)
	} else {
		store, err = keystore.Parse(s.KeystoreType, data, keystore.Passwords{Store: s.KeystorePassword, Key: s.KeyPassword})
	}
	if err != nil {
		return nil, fmt.Errorf("Failed to load SSL keystore %s of type %s: %w", path, s.KeystoreType, err)
	}
	return store, nil
}

// loadTrust reads the trust store, in any of the forms. Kafka: DefaultSslEngineFactory.createTruststore.
func loadTrust(s *Settings) (*keystore.Store, error) {
	pem := s.TruststoreType == keystore.PEM
	switch {
	case s.TruststoreCertificates != nil:
		switch {
		case !pem:
			return nil, fmt.Errorf("SSL trust store certs can be specified only for PEM, but trust store type is %s", s.TruststoreType)
		case s.TruststoreLocation != nil:
			return nil, errors.New("Both SSL trust store location and separate trust certificates are specified")
		case s.TruststorePassword != nil:
			return nil, errors.New("SSL trust store password cannot be specified for PEM format")
		}
		store, err := keystore.ParsePEMTrust(*s.TruststoreCertificates)
		if err != nil {
			return nil, fmt.Errorf("Invalid PEM truststore configs: %w", err)
		}
		return store, nil
	case s.TruststoreLocation == nil && s.TruststorePassword != nil:
		return nil, errors.New("SSL trust store is not specified, but trust store password is specified")
	case s.TruststoreLocation == nil:
		return nil, nil
	case pem && s.TruststorePassword != nil:
		return nil, errors.New("SSL trust store password cannot be specified for PEM format")
	}
	return s.trustFile(*s.TruststoreLocation, pem)
}

func (s *Settings) trustFile(path string, pem bool) (*keystore.Store, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("Failed to load SSL truststore %s of type %s: %w", path, s.TruststoreType, err)
	}
	var store *keystore.Store
	if pem {
		store, err = keystore.ParsePEMTrust(string(data))
	} else {
		store, err = keystore.Parse(s.TruststoreType, data, keystore.Passwords{Store: s.TruststorePassword})
	}
	if err != nil {
		return nil, fmt.Errorf("Failed to load SSL truststore %s of type %s: %w", path, s.TruststoreType, err)
	}
	return store, nil
}
