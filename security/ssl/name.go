package ssl

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"slices"
	"strings"
)

// keywords are the attributes that RFC 2253 has names for.
var keywords = map[string]string{
	"2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.9": "STREET", "2.5.4.10": "O", "2.5.4.11": "OU",
	"0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID",
}

// attribute is one part of a name, with its value as it is encoded.
type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// DN is the subject of a certificate in the form of RFC 2253, as mapping rules and ACLs have it: the last part comes first.
// Java: X500Principal.getName.
func DN(c *x509.Certificate) string {
	var parts []asn1.RawValue
	if _, err := asn1.Unmarshal(c.RawSubject, &parts); err != nil {
		return ""
	}
	slices.Reverse(parts)
	out := make([]string, 0, len(parts))
	for _, p := range parts {
		var values []string
		for rest := p.Bytes; len(rest) > 0; {
			var a attribute
			var err error
			if rest, err = asn1.Unmarshal(rest, &a); err != nil {
				return ""
			}
			values = append(values, a.String())
		}
		out = append(out, strings.Join(values, "+"))
	}
	return strings.Join(out, ",")
}

// stringTags are the encodings of text that are written as text.
var stringTags = []int{asn1.TagPrintableString, asn1.TagUTF8String, asn1.TagT61String, asn1.TagIA5String, asn1.TagGeneralString, asn1.TagBMPString}

func (a *attribute) String() string {
	word, known := keywords[a.Type.String()]
	if !known {
		return a.Type.String() + "=#" + hex.EncodeToString(a.Value.FullBytes)
	}
	if !slices.Contains(stringTags, a.Value.Tag) {
		return word + "=#" + hex.EncodeToString(a.Value.FullBytes)
	}
	return word + "=" + escapeName(a.text())
}

func (a *attribute) text() string {
	b := a.Value.Bytes
	switch a.Value.Tag {
	case asn1.TagBMPString:
		runes := make([]rune, 0, len(b)/2)
		for i := 0; i+1 < len(b); i += 2 {
			runes = append(runes, rune(b[i])<<8|rune(b[i+1]))
		}
		return string(runes)
	case asn1.TagT61String, asn1.TagGeneralString:
		runes := make([]rune, len(b))
		for i, c := range b {
			runes[i] = rune(c)
		}
		return string(runes)
	}
	return string(b)
}

// escapeName protects what has a meaning in a name, and spaces at the ends.
func escapeName(s string) string {
	var b strings.Builder
	lead, trail := len(s)-len(strings.TrimLeft(s, " \r")), len(strings.TrimRight(s, " \r"))
	for i, r := range s {
		switch {
		case r == 0:
			b.WriteString(`\00`)
			continue
		case strings.ContainsRune(`,=+<>#;"\`, r), i < lead, i >= trail:
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
