//go:build compat

package compat

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/wire"
)

// fieldsShown are the fields of an answer that the table shows beside the error codes and messages.
var fieldsShown = []string{
	"Group", "BaseOffset", "RelativeOffset", "HighWatermark", "LogStartOffset", "Offset", "LeaderEpoch", "State",
	"MemberID", "LogAppendTime", "Timestamp",
}

// show appends "path=value" for every field of a response that the table shows, in the order of the response.
func show(v reflect.Value, path string, out []string) []string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return show(v.Elem(), path, out)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			for i := range v.Len() {
				out = show(v.Index(i), fmt.Sprintf("%s[%d]", path, i), out)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if name != "UnknownTags" && name != "Version" {
				out = showField(v.Field(i), name, strings.TrimPrefix(path+"."+name, "."), out)
			}
		}
	default: // a number, a flag, a string that the table does not show
	}
	return out
}

func showField(f reflect.Value, name, path string, out []string) []string {
	isText := f.Kind() == reflect.Pointer && f.Type().Elem().Kind() == reflect.String
	switch {
	case name == "ErrorCode":
		text := "NONE"
		if err := kerr.TypedErrorForCode(int16(f.Int())); err != nil {
			text = err.Message
		}
		return append(out, fmt.Sprintf("%s=%d %s", path, f.Int(), text))
	case isText && (strings.Contains(name, "Error") || name == "Reason"):
		if f.IsNil() {
			return out
		}
		return append(out, fmt.Sprintf("%s=%q", path, f.Elem().String()))
	case slices.Contains(fieldsShown, name):
		return append(out, fmt.Sprintf("%s=%v", path, f.Interface()))
	default:
		return show(f, path, out)
	}
}

// answerText is one row's answer as the table writes it, before normalise.
func answerText(resp kmsg.Response, err error) string {
	switch {
	case errors.Is(err, wire.ErrClosed):
		return "connection closed without a response"
	case err != nil:
		return "no response: " + err.Error()
	}
	fields := slices.DeleteFunc(show(reflect.ValueOf(resp), "", nil), func(f string) bool {
		return strings.HasSuffix(f, "CurrentLeader.LeaderEpoch=-1") || strings.HasSuffix(f, "LogAppendTime=-1")
	})
	return strings.Join(fields, "; ")
}

var (
	times   = regexp.MustCompile(`\d{12,}`)
	uuids   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	offsets = regexp.MustCompile(`(BaseOffset|HighWatermark|\bOffset)=[1-9]\d*`)
)

// normalise replaces what changes from run to run.
func normalise(s string) string {
	s = times.ReplaceAllString(s, "TIME")
	s = uuids.ReplaceAllString(s, "UUID")
	return offsets.ReplaceAllString(s, "$1=N")
}

// texts are the message fields of an answer, with what separates them from the next.
var texts = regexp.MustCompile(`[^ ;]+="([^"\\]|\\.)*"(; )?`)

// withoutTexts leaves codes and numbers of an answer.
func withoutTexts(s string) string { return strings.TrimSuffix(texts.ReplaceAllString(s, ""), "; ") }

// textsOnly leaves the messages of an answer.
func textsOnly(s string) string { return strings.Join(texts.FindAllString(s, -1), "") }

// row is one line of the table.
type row struct{ name, api, answer string }

func (r row) key() string { return r.api + ": " + r.name }

// readTable reads the captured answers in order.
func readTable(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("testdata/errs-3.9.2.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) != 3 {
			t.Fatalf("line %q", line)
		}
		rows = append(rows, row{f[0], f[1], normalise(f[2])})
	}
	return rows
}
