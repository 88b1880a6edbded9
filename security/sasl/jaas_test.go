package sasl

import (
	"maps"
	"strings"
	"testing"
)

func TestParseJAAS_Entries_AsKafka(t *testing.T) {
	for _, tc := range []struct {
		name, text, class string
		options           map[string]string
	}{
		{
			name:  "users of PLAIN",
			text:  `org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="s e;c=r" user_admin='s' user_alice=alice-secret;`,
			class: plainClass, options: map[string]string{"username": "admin", "password": "s e;c=r", "user_admin": "s", "user_alice": "alice-secret"},
		},
		{name: "no options", text: "a.B required;", class: "a.B", options: map[string]string{}},
		{name: "any case of the flag, any space", text: "a.B\n\tSufficient\n k = v ;", class: "a.B", options: map[string]string{"k": "v"}},
		{name: "escapes", text: `a.B optional k="a\"b\\c\t\101\x";`, class: "a.B", options: map[string]string{"k": "a\"b\\c\tAx"}},
		{name: "comments", text: "// one\na.B /* two */ requisite k=v; // three", class: "a.B", options: map[string]string{"k": "v"}},
		{name: "letters beyond ASCII", text: `a.B required k=größe l="ключ";`, class: "a.B", options: map[string]string{"k": "größe", "l": "ключ"}},
		{name: "dollar, underscore and minus in words", text: `a.B$C required k_1=v-1;`, class: "a.B$C", options: map[string]string{"k_1": "v-1"}},
		{name: "a key twice", text: `a.B required k=1a k=b;`, class: "", options: nil},
	} {
		m, err := ParseJAAS(tc.text)
		if tc.options == nil {
			if err == nil {
				t.Errorf("%s: accepted, %v", tc.name, m)
			}
			continue
		}
		if err != nil || m.Class != tc.class || !maps.Equal(m.Options, tc.options) {
			t.Errorf("%s: %q %q, %v", tc.name, m.Class, m.Options, err)
		}
	}
}

func TestParseJAAS_WhatIsWrong_IsSaid(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "Login module not specified in JAAS config",
		"  // nothing":                "Login module not specified in JAAS config",
		"a.B":                         "Login module control flag not specified in JAAS config",
		"a.B ;":                       "Login module control flag is not available in the JAAS config",
		"a.B needed;":                 "Invalid login module control flag 'needed' in JAAS config",
		"a.B required":                "JAAS config entry not terminated by semi-colon",
		"a.B required k=v":            "JAAS config entry not terminated by semi-colon",
		"a.B required k;":             "Value not specified for key 'k' in JAAS config",
		"a.B required k=;":            "Value not specified for key 'k' in JAAS config",
		"a.B required k":              "Value not specified for key 'k' in JAAS config",
		"a.B required k=123;":         "Value not specified for key 'k' in JAAS config", // Java takes it for a number
		"a.B required k=-1;":          "Value not specified for key 'k' in JAAS config",
		"a.B required; c.D required;": "JAAS config property contains 2 login modules, should be 1 module",
	} {
		if _, err := ParseJAAS(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParseJAAS(f *testing.F) {
	f.Add(`a.B required k="v\n" /* x */ l=m;`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseJAAS(text)
		if err == nil && m.Options == nil {
			t.Error("no options")
		}
		if again, err2 := ParseJAAS(strings.Clone(text)); (err == nil) != (err2 == nil) || again.Class != m.Class {
			t.Error("not the same twice")
		}
	})
}
