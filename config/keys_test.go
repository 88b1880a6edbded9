package config

import (
	"slices"
	"strings"
	"testing"
)

func TestTable_Kafkas_AreAllThere(t *testing.T) {
	n := 0
	for _, s := range Sections() {
		if s.Title != "Jackdaw" {
			n += len(s.Keys)
		}
	}
	if n != 329 || len(TopicKeys()) != 36 {
		t.Fatalf("got %d broker keys and %d topic keys, want 329 and 36", n, len(TopicKeys()))
	}
}

func TestTable_EveryKey_IsWellFormed(t *testing.T) {
	check := func(k Key) {
		t.Helper()
		if k.Default.Null {
			if k.Default.Text != "" {
				t.Errorf("%s: null with a text", k.Name)
			}
		} else if _, err := k.Parse(k.Default.Text); err != nil {
			t.Errorf("%s: default: %v", k.Name, err)
		}
		if k.Doc == "" || !strings.HasSuffix(k.Doc, ".") || strings.ContainsAny(k.Doc, "|\n") {
			t.Errorf("%s: doc %q", k.Name, k.Doc)
		}
		if strings.ToLower(k.Name) != k.Name && k.Name != "zookeeper.clientCnxnSocket" {
			t.Errorf("%s: capitals", k.Name)
		}
	}
	for _, s := range Sections() {
		names := []string{}
		for _, k := range s.Keys {
			check(k)
			names = append(names, k.Name)
		}
		if !slices.IsSorted(names) {
			t.Errorf("%s: not in order", s.Title)
		}
	}
	for _, k := range TopicKeys() {
		check(k.Key)
		for _, s := range k.Synonyms {
			if _, ok := Lookup(s); !ok {
				t.Errorf("%s: no such synonym %s", k.Name, s)
			}
		}
	}
}

// What the table calls honored is what Broker, Topic or validation read, and nothing else.
func TestTable_Honored_IsRead(t *testing.T) {
	r := &reader{values: map[string]any{required: "h:1"}, asked: map[string]bool{}}
	if _, err := newBroker(r, "h"); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"password.encoder.secret", "password.encoder.old.secret"} {
		if _, err := passwordEncoder(r, secret); err != nil {
			t.Fatal(err)
		}
	}
	read := r.asked
	read["node.id"] = true       // merged with broker.id before
	read[authorizerClass] = true // read with the settings that are not in the table
	for _, k := range TopicKeys() {
		for _, s := range k.Synonyms {
			read[s] = read[s] || k.Use == Honored
		}
	}
	for _, s := range Sections() {
		for _, k := range s.Keys {
			if k.Use == Honored && !read[k.Name] {
				t.Errorf("%s is called honored, but nothing reads it", k.Name)
			}
		}
	}
}

func TestParseVersion_Forms_AsKafka(t *testing.T) {
	for _, tc := range []struct {
		text string
		want Version
	}{
		{"3.9-IV0", "3.9-IV0"},
		{"3.9", "3.9-IV0"},
		{"3.9.2", "3.9-IV0"},
		{"2.8", "2.8-IV1"},
		{"2.8-IV0", "2.8-IV0"},
		{"0.10.0", "0.10.0-IV1"},
		{"0.8.2", "0.8.2"},
		{"0.8.2.1", "0.8.2"},
		{"1.0", "1.0-IV0"},
		{"4.0-IV1", "4.0-IV1"},
		{"4.0", ""},
		{"0.1", ""},
		{"zap", ""},
		{"", ""},
		{"3", ""},
		{"3.9-IV1", ""},
	} {
		got, ok := ParseVersion(tc.text)
		if got != tc.want || ok != (tc.want != "") {
			t.Errorf("%q: got %q, %v", tc.text, got, ok)
		}
	}
	if !Version("2.8-IV1").AtMost("3.0-IV0") || Version("0.10.0-IV0").AtMost("0.9.0") {
		t.Error("order")
	}
}
