package vfs

import (
	"bytes"
	"path/filepath"
	"testing"
)

// More pieces than one system call takes.
func TestOSWriteAllAt_ManyPieces_AllWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	f, err := OS{}.OpenFile(name, Write|Create)
	if err != nil {
		t.Fatal(err)
	}
	var pieces [][]byte
	for i := range 2*maxPieces + 3 {
		pieces = append(pieces, []byte{byte(i), byte(i >> 8)})
	}
	if err := f.WriteAllAt(pieces, 0); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFile(OS{}, name); err != nil || !bytes.Equal(got, bytes.Join(pieces, nil)) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestBehind_ShortWrites_TheRest(t *testing.T) {
	pieces := [][]byte{[]byte("ab"), {}, []byte("cde"), []byte("f")}
	const text = "abcdef"
	for n := range len(text) + 1 {
		rest, whole := behind(pieces, n)
		if got := string(bytes.Join(rest, nil)); got != text[n:] || whole != (n == len(text)) {
			t.Errorf("after %d bytes: %q, whole %v", n, got, whole)
		}
	}
}
