package config

import (
	"maps"
	"os"
	"strings"
	"testing"
)

const storePassword = "store-pässword"

func encoder(t *testing.T, settings ...string) *PasswordEncoder {
	t.Helper()
	return mustLoad(t, append(settings, "password.encoder.secret=encoder-secret")...).passwords
}

func TestPasswordEncoder_WhatKafkaWrote_IsRead(t *testing.T) {
	data, err := os.ReadFile("testdata/passwords-3.9.2.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if got, err := encoder(t).Decode(line); got != storePassword || err != nil {
			t.Errorf("%.60s: %q, %v", line, got, err)
		}
		if got, err := (&PasswordEncoder{secret: "another"}).Decode(line); err == nil {
			t.Errorf("with another secret: %q", got)
		}
	}
}

func TestPasswordEncoder_RoundTrip_EachCipher(t *testing.T) {
	for _, set := range [][]string{
		nil,
		{"password.encoder.cipher.algorithm=AES/GCM/NoPadding", "password.encoder.key.length=256"},
		{"password.encoder.keyfactory.algorithm=PBKDF2WithHmacSHA256", "password.encoder.iterations=1024"},
	} {
		e := encoder(t, set...)
		for _, p := range []string{"", "x", storePassword, strings.Repeat("y", 16), "\U0001f511"} {
			text, err := e.Encode(p)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := encoder(t).Decode(text); got != p || err != nil {
				t.Errorf("%v: %q became %q, %v", set, p, got, err)
			}
		}
	}
}

func TestPasswordEncoder_SettingsThatCannotBe_Refused(t *testing.T) {
	for set, want := range map[string]string{
		"password.encoder.cipher.algorithm=DES/CBC/PKCS5Padding": "supported are AES/CBC/PKCS5Padding and AES/GCM/NoPadding",
		"password.encoder.keyfactory.algorithm=PBE":              "supported are PBKDF2WithHmacSHA1, PBKDF2WithHmacSHA224",
		"password.encoder.key.length=64":                         "AES has keys of 128, 192 and 256 bits",
	} {
		if _, err := load(mustMap([]string{"password.encoder.secret=s", set}), "h"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", set, err)
		}
	}
}

func TestLoaded_Passwords_OldSecretIsTriedToo(t *testing.T) {
	plain := map[string]string{"listener.name.ssl.ssl.keystore.password": "p", "log.cleaner.threads": "2"}
	first := mustLoad(t, "password.encoder.secret=first")
	stored, err := first.EncodePasswords(plain)
	if err != nil || stored["log.cleaner.threads"] != "2" || strings.Contains(stored["listener.name.ssl.ssl.keystore.password"], "p,") {
		t.Fatalf("%v, %v", stored, err)
	}
	if got, moved, err := first.DecodePasswords(stored); !maps.Equal(got, plain) || moved || err != nil {
		t.Errorf("%v, %v, %v", got, moved, err)
	}
	second := mustLoad(t, "password.encoder.secret=second", "password.encoder.old.secret=first")
	if got, moved, err := second.DecodePasswords(stored); !maps.Equal(got, plain) || !moved || err != nil {
		t.Errorf("after a change of the secret: %v, %v, %v", got, moved, err)
	}
	for _, l := range []*Loaded{mustLoad(t, "password.encoder.secret=second"), mustLoad(t)} {
		if got, _, err := l.DecodePasswords(stored); len(got) != 1 || err == nil {
			t.Errorf("without the secret: %v, %v", got, err)
		}
	}
	if _, err := mustLoad(t).EncodePasswords(plain); err == nil || err.Error() != "Password encoder secret not configured" {
		t.Errorf("without a secret: %v", err)
	}
}

func FuzzPasswordEncoder(f *testing.F) {
	data, err := os.ReadFile("testdata/passwords-3.9.2.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		f.Add(strings.Replace(line, "4096", "1", 1))
	}
	f.Fuzz(func(_ *testing.T, text string) {
		if strings.Contains(text, "00") {
			return // thousands of iterations take their time
		}
		_, _ = (&PasswordEncoder{secret: "s"}).Decode(text)
	})
}
