package report

import "slices"

// sections in the order of the document.
var sections = []string{"Start and memory", "One broker", "Apache's own tools", "Three brokers", "Scale"}

// Merge adds the rows of an earlier run whose sections this one does not have.
func (r *Report) Merge(old Report) {
	have := map[string]bool{}
	for _, row := range r.Rows {
		have[row.Section] = true
	}
	for _, row := range old.Rows {
		if !have[row.Section] {
			r.Rows = append(r.Rows, row)
		}
	}
	slices.SortStableFunc(r.Rows, func(a, b Row) int {
		return slices.Index(sections, a.Section) - slices.Index(sections, b.Section)
	})
}
