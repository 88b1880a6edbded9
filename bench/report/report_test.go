package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jackdaw/bench/report"
)

func sample() report.Report {
	return report.Report{Machine: "2 cores", Versions: "v1", Settings: "2 rounds", Rows: []report.Row{
		{Section: "produce", Load: "acks=1 & none", Metric: "CPU", Unit: "s/GiB", Apache: []float64{8, 10, 6}, Jackdaw: []float64{2, 2, 3}, Goal: 0.3},
		{Section: "fetch", Load: "cached", Metric: "throughput", Unit: "MiB/s", Apache: []float64{100, 100}, Jackdaw: []float64{110, 130}, Goal: 1.5, AtLeast: true},
	}}
}

func TestMedian_Figures_AreInOrder(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}, {[]float64{7}, 7}} {
		if got := report.Median(c.in); got != c.want {
			t.Errorf("%v: got %v, want %v", c.in, got, c.want)
		}
	}
	if got := report.Median(nil); !math.IsNaN(got) {
		t.Errorf("nothing: got %v", got)
	}
}

func TestRow_Goals_AreHeldByTheMedianOfRatios(t *testing.T) {
	rows := sample().Rows
	if !rows[0].Met() || rows[1].Met() {
		t.Errorf("got %v and %v, want met and missed", rows[0].Met(), rows[1].Met())
	}
	rows[0].Absolute = 1
	if rows[0].Met() {
		t.Error("the bound of the figure itself is not held")
	}
}

func TestUpdate_Document_KeepsWhatIsAround(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	text := "before\n<!-- figures: made by make bench -->\nold\n<!-- end of figures -->\nafter\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // twice is as once
		if err := sample().Update(path); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n", "\nafter\n", "| acks=1 & none | CPU, s/GiB | 8.00 | 2.00 | 0.25 | 0.20 to 0.50 | <= 0.3 | met |"} {
		if strings.Count(string(got), want) != 1 {
			t.Errorf("no or many %q in:\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "old") {
		t.Error("the old figures are still there")
	}
}

func TestPictures_Each_IsXML(t *testing.T) {
	r := sample()
	for _, n := range []string{"100", "2000"} {
		r.Rows = append(r.Rows, report.Row{Load: n + " partitions", Metric: "memory", Unit: "MiB", Apache: []float64{300}, Jackdaw: []float64{20}})
	}
	if !strings.Contains(r.Growth(), "polyline") {
		t.Error("the growth has no lines")
	}
	for _, picture := range []string{r.SVG(), r.Growth(), report.Report{}.SVG(), report.Report{}.Growth()} {
		wellFormed(t, picture)
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestMarkdown_SeriesOfSizes_ShowsItsPicture(t *testing.T) {
	row := func(load string) report.Row {
		return report.Row{Section: "Scale", Load: load, Metric: "memory", Unit: "MiB", Apache: []float64{2}, Jackdaw: []float64{1}}
	}
	one := report.Report{Rows: []report.Row{row("100 partitions")}}
	two := report.Report{Rows: []report.Row{row("100 partitions"), row("500 partitions")}}
	const picture = "(p-growth.svg)"
	if text := one.Markdown("p-growth.svg"); strings.Contains(text, picture) || one.Grows() {
		t.Errorf("one size is no growth:\n%s", text)
	}
	if text := two.Markdown("p-growth.svg"); !strings.Contains(text, picture) {
		t.Errorf("no picture:\n%s", text)
	}
}
