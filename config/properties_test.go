package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// javaQuote quotes as testdata/properties/Dump.java does.
func javaQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range utf16.Encode([]rune(s)) {
		switch {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(rune(c)))
		case c < 32 || c > 126:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(rune(c))
		}
	}
	return b.String() + `"`
}

func TestReadFile_EveryCase_AsJava(t *testing.T) {
	dir := filepath.Join("testdata", "properties")
	want, err := os.ReadFile(filepath.Join(dir, "java.golden"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.properties"))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, f := range files {
		fmt.Fprintln(&got, "==", filepath.Base(f))
		raw, err := readFile(f)
		if err != nil {
			fmt.Fprintln(&got, "ERR")
			continue
		}
		for _, k := range sortedKeys(raw) {
			fmt.Fprintln(&got, javaQuote(k), "=", javaQuote(raw[k]))
		}
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Fatalf("(-java +here)\n%s", diff)
	}
}

func TestCodec_NotUTF8_IsLatin1(t *testing.T) {
	got := map[string]any{}
	if err := (codec{}).Decode([]byte("caf\xe9=na\xefve\n"), got); err != nil {
		t.Fatal(err)
	}
	if got["café"] != "naïve" {
		t.Fatalf("got %q", got)
	}
}

func TestCodec_ByteOrderMark_IsDropped(t *testing.T) {
	got := map[string]any{}
	if err := (codec{}).Decode([]byte("\ufeffbroker.id=1\n"), got); err != nil {
		t.Fatal(err)
	}
	if got["broker.id"] != "1" {
		t.Fatalf("got %q", got)
	}
}

func TestReadFile_BadEscape_NamesFileAndLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(path, []byte("# c\na=1\nb=x\\\n  y\\u00zz\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := readFile(path)
	if want := path + `: line 3: malformed \uxxxx escape in "\\u00zz"`; err == nil || err.Error() != want {
		t.Fatalf("got  %v\nwant %s", err, want)
	}
}

func FuzzCodec(f *testing.F) {
	f.Add([]byte("a=b\\\n c\\u0041\nA : \\\\\r\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		got := map[string]any{}
		if err := (codec{}).Decode(src, got); err != nil {
			return
		}
		for k, v := range got {
			if s, ok := v.(string); !ok || len(s) > 3*len(src) || len(k) > 6*len(src)+1 {
				t.Fatalf("%q = %v", k, v)
			}
		}
	})
}

func TestFold_AnyKey_ComesBack(t *testing.T) {
	for _, k := range []string{"zookeeper.clientCnxnSocket", "ABC", "", "É.x", "aB", "ß.Ω"} {
		if f := fold(k); f != strings.ToLower(f) || unfold(f) != k {
			t.Errorf("%q: folded %q, back %q", k, f, unfold(f))
		}
	}
}
