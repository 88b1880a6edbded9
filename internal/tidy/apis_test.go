package tidy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"jackdaw/protocol"
)

var handlerFile = regexp.MustCompile(`^\d\d_[a-z_]+\.go$`)

// Each API of the table has one file in broker, NN_name.go, that opens with its name, key and versions; and no file is
// without an API. So `ls broker` is the table.
func TestAPIs_EveryAPI_HasItsFile(t *testing.T) {
	want := map[string]string{}
	for _, a := range protocol.Table() {
		want[fmt.Sprintf("%02d_%s.go", a.Key, snake(a.Name))] = fmt.Sprintf("// %s (%d), %s. ", a.Name, a.Key, versions(a))
	}
	files, err := filepath.Glob(filepath.Join(root, "broker", "[0-9][0-9]_*.go"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, path := range files {
		name := filepath.Base(path)
		if !handlerFile.MatchString(name) || strings.HasSuffix(name, "_test.go") {
			continue
		}
		seen[name] = true
		header, ok := want[name]
		if !ok {
			t.Errorf("broker/%s: no such API in the table of protocol", name)
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains("\n"+string(text), "\n"+header) {
			t.Errorf("broker/%s: no comment that begins with %q", name, header)
		}
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("broker/%s is missing: the API is in the table of protocol", name)
		}
	}
}

func versions(a protocol.API) string {
	if a.Min == a.Max {
		return fmt.Sprintf("v%d", a.Min)
	}
	return fmt.Sprintf("v%d-%d", a.Min, a.Max)
}

// snake turns OffsetForLeaderEpoch into offset_for_leader_epoch.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func TestSnake_Names_AreFileNames(t *testing.T) {
	for in, want := range map[string]string{
		"Fetch": "fetch", "OffsetForLeaderEpoch": "offset_for_leader_epoch", "SASLHandshake": "sasl_handshake", "InitProducerID": "init_producer_id",
		"LeaderAndIsr": "leader_and_isr",
	} {
		if got := snake(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
