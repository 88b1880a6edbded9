package ssl

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"testing"
)

func TestDN_EveryKindOfAttribute_AsJava(t *testing.T) {
	data, err := os.ReadFile("testdata/names.pem")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	const want = `2.5.4.12=#0c024472,2.5.4.5=#13023737,1.2.840.113549.1.9.1=#16056140622e63,CN=\#lead,OU=back\\slash,OU=a+UID=u1,O=\ Jörg \"&\" \<Sons\>\=\#1\ ,STREET=1\;2,L=x\+y,ST=A\, B,C=DE,DC=example,DC=org`
	if got := DN(c); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
