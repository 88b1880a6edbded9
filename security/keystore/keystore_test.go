package keystore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func of(s string) *string { return &s }

// names are the common names of a store: those of the chain of each key, then those that are trusted.
func names(s *Store) string {
	var out []string
	for _, e := range s.Entries {
		var chain []string
		for _, c := range e.Chain {
			chain = append(chain, c.Subject.CommonName)
		}
		out = append(out, strings.Join(chain, "<"))
	}
	for _, c := range s.Trusted {
		out = append(out, "+"+c.Subject.CommonName)
	}
	return strings.Join(out, " ")
}

func TestParse_StoresOfKeytoolAndOpenSSL_Loaded(t *testing.T) {
	secret := Passwords{Store: of("secret1")}
	for _, tc := range []struct {
		file, kind string
		passwords  Passwords
		want       string
		fault      string // part of the error
	}{
		{file: "keys.jks", kind: JKS, passwords: Passwords{of("secret1"), of("secret2")}, want: "broker<Test CA +Test CA"},
		{file: "keys.jks", kind: PKCS12, passwords: Passwords{of("secret1"), of("secret2")}, want: "broker<Test CA +Test CA"},
		{file: "keys.jks", kind: JKS, passwords: secret, fault: "got invalid digest"},
		{file: "keys.jks", kind: JKS, passwords: Passwords{Store: of("wrong1")}, fault: "got invalid digest"},
		{file: "keys.jks", kind: JKS, want: "broker<Test CA +Test CA"}, // its certificates
		{file: "keys.pkcs12", kind: PKCS12, passwords: secret, want: "broker<Test CA +Test CA"},
		{file: "keys.pkcs12", kind: JKS, passwords: secret, want: "broker<Test CA +Test CA"},
		{file: "keys.pkcs12", kind: PKCS12, passwords: Passwords{Store: of("wrong1")}, fault: "decryption password incorrect"},
		{file: "keys-openssl.pkcs12", kind: PKCS12, passwords: secret, want: "broker<Test CA"},
		{file: "keys-legacy.pkcs12", kind: PKCS12, passwords: secret, want: "broker<Test CA"},
		{file: "trust.jks", kind: JKS, passwords: secret, want: "+Test CA"},
		{file: "trust.jks", kind: JKS, want: "+Test CA"},
		{file: "trust.pkcs12", kind: PKCS12, passwords: secret, want: "+Test CA"},
		{file: "trust.pkcs12", kind: PKCS12, passwords: Passwords{Store: of("wrong1")}, fault: "decryption password incorrect"},
		{file: "trust-nopassword.pkcs12", kind: PKCS12, want: "+Test CA"},
		{file: "ca.pem", kind: JKS, passwords: secret, fault: "read PKCS12"},
		{file: "keys.jks", kind: "BCFKS", fault: "type BCFKS of a key store is not supported"},
	} {
		s, err := Parse(tc.kind, read(t, tc.file), tc.passwords)
		if tc.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tc.fault) {
				t.Errorf("%s as %s: error %v, want %q", tc.file, tc.kind, err, tc.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s as %s: %v", tc.file, tc.kind, err)
			continue
		}
		if got := names(s); got != tc.want {
			t.Errorf("%s as %s: %s, want %s", tc.file, tc.kind, got, tc.want)
		}
	}
}

func TestParse_CutOrChanged_Refused(t *testing.T) {
	for _, file := range []string{"keys.jks", "keys.pkcs12", "trust.jks", "trust.pkcs12"} {
		data := read(t, file)
		for n := 0; n < len(data); n += 97 {
			if _, err := Parse(JKS, data[:n], Passwords{Store: of("secret1")}); err == nil {
				t.Errorf("%s cut at %d was accepted", file, n)
			}
		}
		data[len(data)/2] ^= 1
		if _, err := Parse(JKS, data, Passwords{Store: of("secret1")}); err == nil {
			t.Errorf("%s with a wrong bit was accepted", file)
		}
	}
}

func TestStore_Anchors_AreTrustedAndOwnCertificates(t *testing.T) {
	s, err := Parse(PKCS12, read(t, "keys.pkcs12"), Passwords{Store: of("secret1")})
	if err != nil {
		t.Fatal(err)
	}
	got := s.Anchors()
	if len(got) != 2 || got[0].Subject.CommonName != "Test CA" || got[1].Subject.CommonName != "broker" {
		t.Errorf("%d anchors", len(got))
	}
}

func TestParsePEMKey_FormsOfKafka_Loaded(t *testing.T) {
	key, sealed, chain := string(read(t, "key.pem")), string(read(t, "key-encrypted.pem")), string(read(t, "chain.pem"))
	oneLine := func(s string) string { return strings.ReplaceAll(s, "\n", " ") }
	for _, tc := range []struct {
		name, key, chain string
		password         *string
		fault            string
	}{
		{name: "key and chain", key: key, chain: chain},
		{name: "both in one text", key: key + chain, chain: key + chain},
		{name: "on one line each, as in server.properties", key: oneLine(key), chain: oneLine(chain)},
		{name: "without the last line end", key: strings.TrimSpace(key), chain: strings.TrimSpace(chain)},
		{name: "text around it", key: "Bag Attributes\n  friendlyName: x\n" + key, chain: "subject=CN\n" + chain},
		{name: "encrypted", key: sealed, chain: chain, password: of("secret2")},
		{name: "encrypted, wrong password", key: sealed, chain: chain, password: of("wrong1"), fault: "Private key could not be loaded"},
		{name: "encrypted, no password", key: sealed, chain: chain, fault: "Private key could not be loaded"},
		{name: "no key", key: chain, chain: chain, fault: "Private key not provided"},
		{name: "two keys", key: key + key, chain: chain, fault: "Expected one private key, but found 2"},
		{name: "no certificate", key: key, chain: key, fault: "At least one certificate expected, but none found"},
		{name: "certificate of another key", key: key, chain: string(read(t, "ca.pem")), fault: "no certificate of the private key"},
		{name: "not base64", key: "-----BEGIN PRIVATE KEY-----\nab=cd\n-----END PRIVATE KEY-----\n", chain: chain, fault: "PEM"},
	} {
		s, err := ParsePEMKey(tc.key, tc.chain, tc.password)
		if tc.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tc.fault) {
				t.Errorf("%s: error %v, want %q", tc.name, err, tc.fault)
			}
			continue
		}
		if err != nil || names(s) != "broker<Test CA" {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestParsePEMTrust_Certificates_Loaded(t *testing.T) {
	s, err := ParsePEMTrust(string(read(t, "chain.pem")))
	if err != nil || names(s) != "+broker +Test CA" {
		t.Errorf("%v", err)
	}
	if _, err := ParsePEMTrust("nothing"); err == nil {
		t.Error("nothing was accepted")
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range []string{"keys.pkcs12", "trust.pkcs12", "trust-nopassword.pkcs12"} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		if len(data) > 4 && data[0] == 0xfe && data[1] == 0xed {
			return // sizes within a JKS are believed: it is a file of the operator's
		}
		_, _ = Parse(PKCS12, data, Passwords{})
	})
}
