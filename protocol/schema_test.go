package protocol

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The schemas are Kafka's: the same kinds in the same order, null where Kafka takes null, in every version that is served.
func TestTable_Schemas_AreKafkas(t *testing.T) {
	raw, err := os.ReadFile("testdata/kafka-3.9.2-requests.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`[a-z][a-z0-9_]*:`)
	kinds := strings.NewReplacer("BOOLEAN", "INT8", "UINT16", "INT16", "RECORDS", "?BYTES", "FLOAT64", "INT64")
	served := 0
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		var key, version int16
		if _, err := fmt.Sscanf(line, "%d %d request", &key, &version); err != nil {
			t.Fatal(err)
		}
		api, ok := Lookup(key)
		if !ok || !api.Supports(version) {
			continue
		}
		served++
		_, want, _ := strings.Cut(line, " request ")
		want = kinds.Replace(names.ReplaceAllString(want, ""))
		if got := describe(api.body, version, version >= api.Flexible); got != want {
			t.Errorf("%s v%d:\n got %s\nwant %s", api.Name, version, got, want)
		}
	}
	rows := 0
	for _, api := range Table() {
		rows += int(api.Max-api.Min) + 1
	}
	if served != rows {
		t.Errorf("Kafka's file has %d of %d versions: renew it", served, rows)
	}
}

// describe writes the fields of a version in the form of the file.
func describe(n *node, version int16, flexible bool) string {
	var out []string
	for _, f := range n.fields {
		if version < f.min || version > f.max {
			continue
		}
		text := describeKind(f, version, flexible)
		if f.tag >= 0 {
			text = fmt.Sprintf("#%d:%s", f.tag, text)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func describeKind(f *node, version int16, flexible bool) string {
	null := ""
	if version >= f.null {
		null = "?"
	}
	switch f.kind {
	case kindStruct:
		return "(" + describe(f, version, flexible) + ")"
	case kindBare:
		return describe(f, version, flexible)
	case kindInt8:
		return "INT8"
	case kindInt16:
		return "INT16"
	case kindInt32:
		return "INT32"
	case kindInt64:
		return "INT64"
	case kindUUID:
		return "UUID"
	case kindString:
		return null + "STRING"
	case kindBytes:
		return null + "BYTES"
	default:
		return null + "[]" + describeKind(f.item, version, flexible)
	}
}
