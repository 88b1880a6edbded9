package assert

import (
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// That reports a broken invariant unless cond holds. msg says what should have held; kv are keys and values that help
// to see why it does not. The short form That(hw <= leo, "hw", hw, "leo", leo) is understood too: the message is then
// made of the pairs alone.
//
// Values are read only when cond is false, and do not escape.
func That(cond bool, msg string, kv ...any) {
	if !cond {
		failed(msg, kv)
	}
}

// Failures returns how many checks have failed in this process. Always zero in builds that panic.
func Failures() uint64 { return seen.count.Load() }

// seen is the only state of the package: invariants have no owner that could carry it.
var seen struct {
	count atomic.Uint64
	sites sync.Map // program counter of That's caller -> struct{}, so that each place is logged once
}

//go:noinline
func failed(msg string, kv []any) {
	text := describe(msg, kv)
	if panics {
		panic("invariant broken: " + text)
	}
	seen.count.Add(1)
	// That is small enough to be inlined, and runtime.Caller counts inlined frames: 0 failed, 1 That, 2 its caller.
	pc, file, line, _ := runtime.Caller(2)
	if _, again := seen.sites.LoadOrStore(pc, struct{}{}); again {
		return
	}
	slog.Error("invariant broken", "what", text, "at", fmt.Sprintf("%s:%d", file, line))
}

// describe renders the message and its pairs.
func describe(msg string, kv []any) string {
	var b strings.Builder
	rest := kv
	if len(kv)%2 == 1 { // the short form: msg is the first key
		b.WriteString(msg + "=" + render(kv[0]))
		rest = kv[1:]
	} else {
		b.WriteString(msg)
	}
	for i := 0; i+1 < len(rest); i += 2 {
		b.WriteString(" " + render(rest[i]) + "=" + render(rest[i+1]))
	}
	return b.String()
}

// render formats without fmt, whose arguments escape to the heap: every caller of That would then pay an allocation
// for each value even if the condition holds.
func render(v any) string {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(r.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(r.Uint(), 10)
	case reflect.Bool:
		return strconv.FormatBool(r.Bool())
	case reflect.String:
		return strings.Clone(r.String())
	case reflect.Slice, reflect.Array:
		parts := make([]string, 0, r.Len())
		for i := range r.Len() {
			parts = append(parts, renderElem(r.Index(i)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Invalid:
		return "nil"
	default:
		return r.Type().String()
	}
}

func renderElem(r reflect.Value) string {
	if r.CanInt() {
		return strconv.FormatInt(r.Int(), 10)
	}
	return r.String()
}
