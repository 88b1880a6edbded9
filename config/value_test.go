package config

import (
	"math"
	"testing"
	"time"
)

func TestJavaDouble_Values_AsJava(t *testing.T) {
	for _, tc := range []struct {
		v    float64
		want string
	}{
		{2, "2.0"},
		{0, "0.0"},
		{0.5, "0.5"},
		{math.MaxFloat64, "1.7976931348623157E308"},
		{1e10, "1.0E10"},
		{1e-5, "1.0E-5"},
		{1234567.25, "1234567.25"},
		{-0.5, "-0.5"},
	} {
		if got := javaDouble(tc.v); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
}

func TestScaled_BeyondADuration_IsUnlimited(t *testing.T) {
	if got := scaled(math.MaxInt64, time.Millisecond); got != Unlimited {
		t.Errorf("got %v", got)
	}
	if got := scaled(-1, time.Millisecond); got != -time.Millisecond {
		t.Errorf("got %v", got)
	}
}
