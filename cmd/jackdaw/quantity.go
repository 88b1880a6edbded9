package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// size is a number of bytes given as 10TB, 512GiB, 1.5e6 or 1000. Decimal units are powers of 1000. It is a flag value.
type size float64

// units are in the order in which they are printed.
var units = []struct {
	name  string
	bytes float64
}{
	{"PB", 1e15},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"PiB", 1 << 50},
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"B", 1},
}

// decimal is how many of units are decimal ones.
const decimal = 5

// Set implements pflag.Value.
func (s *size) Set(text string) error {
	n, err := parseSize(text)
	*s = size(n)
	return err
}

// Type implements pflag.Value.
func (s *size) Type() string { return "size" }

// String implements pflag.Value.
func (s *size) String() string {
	if *s == 0 {
		return ""
	}
	return formatSize(float64(*s))
}

func parseSize(text string) (float64, error) {
	number, factor := strings.TrimSpace(text), 1.0
	for _, u := range units {
		if rest, ok := cutSuffixFold(number, u.name); ok {
			number, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		return 0, fmt.Errorf("%q is not a size such as 10TB or 512GiB", text)
	}
	return n * factor, nil
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if i := len(s) - len(suffix); i >= 0 && strings.EqualFold(s[i:], suffix) {
		return s[:i], true
	}
	return s, false
}

func formatSize(n float64) string {
	for _, u := range units[:decimal] {
		if n >= u.bytes {
			return strconv.FormatFloat(math.Round(n/u.bytes*100)/100, 'f', -1, 64) + " " + u.name
		}
	}
	return strconv.FormatFloat(math.Ceil(n), 'f', 0, 64) + " B"
}

// rate is bytes a second, given as 50MB/s or 50MB. It is a flag value.
type rate float64

// Set implements pflag.Value.
func (r *rate) Set(text string) error {
	n, err := parseSize(strings.TrimSuffix(text, "/s"))
	*r = rate(n)
	return err
}

// Type implements pflag.Value.
func (r *rate) Type() string { return "rate" }

// String implements pflag.Value.
func (r *rate) String() string {
	if *r == 0 {
		return ""
	}
	return formatSize(float64(*r)) + "/s"
}

// span is a time such as 7d, 36h or 90m. It is a flag value.
type span time.Duration

// Set implements pflag.Value.
func (s *span) Set(text string) error {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is not a time such as 7d or 36h", text)
		}
		*s = span(n * float64(24*time.Hour))
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a time such as 7d or 36h", text)
	}
	*s = span(d)
	return nil
}

// Type implements pflag.Value.
func (s *span) Type() string { return "time" }

// String implements pflag.Value.
func (s *span) String() string {
	d := time.Duration(*s)
	switch {
	case d == 0:
		return ""
	case d%(24*time.Hour) == 0:
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	default:
		return d.String()
	}
}

// splitNames splits a,b,c and drops blanks.
func splitNames(text string) []string {
	names := strings.Split(text, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return slices.DeleteFunc(names, func(s string) bool { return s == "" })
}
