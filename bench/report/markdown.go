package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// Text prints the table for a terminal.
func (r Report) Text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "load\tfigure\tApache\tJackdaw\tratio\tspread\tgoal\t")
	section := ""
	for _, row := range r.Rows {
		if row.Section != section {
			section = row.Section
			fmt.Fprintf(tw, "%s\t\t\t\t\t\t\t\n", strings.ToUpper(section))
		}
		fmt.Fprintln(tw, strings.Join(row.cells(), "\t"))
	}
	return tw.Flush()
}

func (r Row) cells() []string {
	metric := r.Metric
	if r.Unit != "" {
		metric += ", " + r.Unit
	}
	return []string{
		r.Load, metric, number(Median(r.Apache)), number(Median(r.Jackdaw)), number(Median(r.Ratios())), r.spread(), r.goal(), r.verdict(),
	}
}

// Markdown is the report as a section of a document; growth is the picture of Growth beside it.
func (r Report) Markdown(growth string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. %s. %s.\n", r.Machine, r.Versions, r.Settings)
	section := ""
	for _, row := range r.Rows {
		if row.Section != section {
			section = row.Section
			fmt.Fprintf(&b, "\n### %s\n\n| load | figure | Apache | Jackdaw | ratio | spread | goal | |\n|---|---|--:|--:|--:|--:|--:|---|\n", section)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row.cells(), " | "))
	}
	if r.Grows() {
		fmt.Fprintf(&b, "\n![how figures grow with partitions](%s)\n", growth)
	}
	return b.String()
}

const (
	begin = "<!-- figures: made by make bench -->\n"
	end   = "<!-- end of figures -->\n"
)

// Update puts the report between its marks in a document.
func (r Report) Update(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s: the marks %q and %q are gone", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(path, []byte(before+begin+"\n"+r.Markdown(filepath.Base(GrowthPath(path)))+"\n"+end+after), 0o644)
}
