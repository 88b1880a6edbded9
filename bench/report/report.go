package report

import (
	"fmt"
	"math"
	"slices"
)

// Report is a comparison of two brokers.
type Report struct {
	// Machine, Versions and Settings say what was measured, on what.
	Machine, Versions, Settings string
	Rows                        []Row
}

// Row is one figure of one load, in every round, of both brokers.
type Row struct {
	// Section groups rows; Load and Metric name them.
	Section, Load, Metric string
	// Unit of the figures; the ratio has none.
	Unit string
	// Apache and Jackdaw are the figures by round. Figure i of one was taken next to figure i of the other.
	Apache, Jackdaw []float64
	// Goal bounds the ratio Jackdaw/Apache; 0 is no goal. AtLeast says on which side it lies.
	Goal    float64
	AtLeast bool
	// Absolute bounds Jackdaw's figure itself from above; 0 is no bound.
	Absolute float64
}

// Median of figures; NaN of none.
func Median(figures []float64) float64 {
	if len(figures) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(figures))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// Ratios are Jackdaw's figures in parts of Apache's, by round.
func (r Row) Ratios() []float64 {
	out := make([]float64, 0, len(r.Jackdaw))
	for i := range min(len(r.Jackdaw), len(r.Apache)) {
		out = append(out, r.Jackdaw[i]/r.Apache[i])
	}
	return out
}

// Met tells whether the median reaches the goal; a row without goals meets it.
func (r Row) Met() bool {
	ratio := Median(r.Ratios())
	switch {
	case r.Absolute > 0 && Median(r.Jackdaw) > r.Absolute:
		return false
	case r.Goal == 0:
		return true
	case r.AtLeast:
		return ratio >= r.Goal
	}
	return ratio <= r.Goal
}

// goal says what the row has to reach.
func (r Row) goal() string {
	sign := "<="
	if r.AtLeast {
		sign = ">="
	}
	switch {
	case r.Goal == 0 && r.Absolute == 0:
		return ""
	case r.Goal == 0:
		return fmt.Sprintf("<= %s", number(r.Absolute))
	case r.Absolute == 0:
		return fmt.Sprintf("%s %g", sign, r.Goal)
	}
	return fmt.Sprintf("%s %g, <= %s", sign, r.Goal, number(r.Absolute))
}

func (r Row) verdict() string {
	switch {
	case r.Goal == 0 && r.Absolute == 0:
		return ""
	case r.Met():
		return "met"
	}
	return "missed"
}

// spread is the lowest and the highest ratio.
func (r Row) spread() string {
	all := r.Ratios()
	if len(all) < 2 {
		return ""
	}
	return number(slices.Min(all)) + " to " + number(slices.Max(all))
}

// number writes three significant digits, and no exponent.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 0.1 || a == 0:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
