package ssl

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
)

// version is what can be negotiated, by Java's name.
type version struct {
	name string
	id   uint16
}

// versions go from old to new.
var versions = []version{
	{"TLSv1", tls.VersionTLS10}, {"TLSv1.1", tls.VersionTLS11}, {"TLSv1.2", tls.VersionTLS12}, {"TLSv1.3", tls.VersionTLS13},
}

// base has the versions and ciphers of both sides.
func (c *Context) base() (*tls.Config, error) {
	least, most, err := versionRange(c.settings.Protocol, c.settings.EnabledProtocols)
	if err != nil {
		return nil, err
	}
	out := &tls.Config{MinVersion: least, MaxVersion: most}
	if err := setSuites(out, c.settings.CipherSuites); err != nil {
		return nil, err
	}
	return out, nil
}

// versionRange reads ssl.enabled.protocols, and ssl.protocol where that is empty.
func versionRange(protocol string, enabled []string) (least, most uint16, err error) {
	if !strings.HasPrefix(protocol, "TLS") {
		return 0, 0, fmt.Errorf("ssl.protocol: %s is not supported, use TLSv1.2 or TLSv1.3", protocol)
	}
	if len(enabled) == 0 {
		for _, v := range versions {
			if v.id == tls.VersionTLS12 || v.name == protocol || protocol == "TLS" {
				enabled = append(enabled, v.name)
			}
			if v.name == protocol {
				break
			}
		}
	}
	var on []int
	for _, name := range enabled {
		i := slices.IndexFunc(versions, func(v version) bool { return v.name == name })
		if i < 0 {
			return 0, 0, fmt.Errorf("ssl.enabled.protocols: %s is not supported, use TLSv1.2 and TLSv1.3", name)
		}
		on = append(on, i)
	}
	first, last := slices.Min(on), slices.Max(on)
	for i := first; i < last; i++ {
		if !slices.Contains(on, i) {
			return 0, 0, fmt.Errorf("ssl.enabled.protocols: %s cannot be left out between others", versions[i].name)
		}
	}
	return versions[first].id, versions[last].id, nil
}

// setSuites reads ssl.cipher.suites. Those of TLS 1.3 cannot be chosen one by one: any of them stands for all.
func setSuites(c *tls.Config, names []string) error {
	if len(names) == 0 {
		return nil
	}
	new13 := false
	for _, name := range names {
		s := suite(strings.Replace(name, "SSL_", "TLS_", 1)) // Java's name of the oldest ones
		switch {
		case s == nil:
			return fmt.Errorf("ssl.cipher.suites: Unsupported CipherSuite: %s", name)
		case slices.Contains(s.SupportedVersions, uint16(tls.VersionTLS13)):
			new13 = true
		default:
			c.CipherSuites = append(c.CipherSuites, s.ID)
		}
	}
	if len(c.CipherSuites) == 0 {
		c.MinVersion = tls.VersionTLS13
	}
	if !new13 {
		c.MaxVersion = min(c.MaxVersion, tls.VersionTLS12)
	}
	if c.MinVersion > c.MaxVersion {
		return fmt.Errorf("ssl.cipher.suites: %s are not suites of ssl.enabled.protocols", strings.Join(names, ","))
	}
	return nil
}

func suite(name string) *tls.CipherSuite {
	for _, s := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		if s.Name == name {
			return s
		}
	}
	return nil
}
