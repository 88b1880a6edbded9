package assert

import (
	"strings"
	"testing"
)

func TestThat_Holds_AllocatesNothing(t *testing.T) {
	type epoch int32
	hw, leo, e := int64(1<<40), int64(1<<41), epoch(1<<20)
	if n := testing.AllocsPerRun(100, func() { That(hw <= leo, "hw beyond the log end", "hw", hw, "leo", leo, "epoch", e) }); n != 0 {
		t.Fatalf("allocations: got %v, want 0", n)
	}
}

func TestThat_Broken_PanicsOrCounts(t *testing.T) {
	before := Failures()
	defer func() {
		r := recover()
		if panics {
			if text, _ := r.(string); !strings.Contains(text, "hw=2 leo=1") {
				t.Fatalf("panic: got %v", r)
			}
			return
		}
		if r != nil {
			t.Fatalf("panic in a build that counts: %v", r)
		}
		if got := Failures() - before; got != 3 {
			t.Fatalf("failures: got %d, want 3", got)
		}
	}()
	for range 3 {
		That(false, "hw beyond the log end", "hw", 2, "leo", 1)
	}
}

func TestDescribe_EveryForm_ReadsWell(t *testing.T) {
	type name string
	for _, tc := range []struct {
		name string
		msg  string
		kv   []any
		want string
	}{
		{"a message alone", "isr is empty", nil, "isr is empty"},
		{"a message and pairs", "hw beyond the end", []any{"hw", int64(2), "leo", uint8(1)}, "hw beyond the end hw=2 leo=1"},
		{"pairs alone", "hw", []any{2, "leo", 1}, "hw=2 leo=1"},
		{"named types, bools, slices, nil", "x", []any{"a", name("n"), "b", true, "c", []int32{1, 2}, "d", nil}, `x a=n b=true c=[1 2] d=nil`},
		{"a struct is named by its type", "x", []any{"a", struct{}{}}, "x a=struct {}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := describe(tc.msg, tc.kv); got != tc.want {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
		})
	}
}
