package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

const (
	growthWidth, growthHeight = 440, 260
	growthLeft, growthTop     = 60, 40
	growthRight, growthBottom = 20, 36
)

// point is one figure of both brokers at a size.
type point struct{ x, apache, jackdaw float64 }

// GrowthPath is where the picture of Growth lies: beside a document.
func GrowthPath(doc string) string { return strings.TrimSuffix(doc, filepath.Ext(doc)) + "-growth.svg" }

// Grows tells whether there is anything for Growth to draw.
func (r Report) Grows() bool {
	metrics, _ := r.series()
	return len(metrics) > 0
}

// series are the figures of rows whose load begins with a number of partitions, by metric, if there is more than one.
func (r Report) series() (metrics []string, series map[string][]point) {
	series = map[string][]point{}
	for _, row := range r.Rows {
		var n float64
		if _, err := fmt.Sscanf(row.Load, "%f partitions", &n); err != nil || strings.HasSuffix(row.Metric, "at rest") || len(row.Ratios()) == 0 {
			continue
		}
		metric := row.Metric + ", " + row.Unit
		if series[metric] == nil {
			metrics = append(metrics, metric)
		}
		series[metric] = append(series[metric], point{n, Median(row.Apache), Median(row.Jackdaw)})
	}
	return slices.DeleteFunc(metrics, func(m string) bool { return len(series[m]) < 2 }), series
}

// Growth draws how figures grow with the number of partitions.
func (r Report) Growth() string {
	metrics, series := r.series()
	var b strings.Builder
	width := max(len(metrics), 1) * growthWidth
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, growthHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, growthHeight)
	for i, m := range metrics {
		panel(&b, float64(i*growthWidth), m, series[m])
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// panel draws one figure with its own axes from 0.
func panel(b *strings.Builder, left float64, title string, points []point) {
	slices.SortFunc(points, func(a, b point) int { return int(a.x - b.x) })
	mostX, mostY := points[len(points)-1].x, 0.0
	for _, p := range points {
		mostY = max(mostY, p.apache, p.jackdaw)
	}
	const bottom = growthHeight - growthBottom
	x := func(v float64) float64 { return left + growthLeft + v/mostX*(growthWidth-growthLeft-growthRight) }
	y := func(v float64) float64 { return bottom - v/mostY*(bottom-growthTop) }
	b.WriteString(label(left+growthLeft, 18, "start", title))
	fmt.Fprintf(b, `<path d="M%.1f %d V%d H%.1f" fill="none" stroke="#333"/>`+"\n", x(0), growthTop, bottom, x(mostX))
	b.WriteString(label(x(0)-6, growthTop+4, "end", number(mostY)))
	b.WriteString(label(x(0)-6, bottom, "end", "0"))
	for _, p := range points {
		b.WriteString(label(x(p.x), bottom+16, "middle", number(p.x)))
	}
	line(b, "#c63", "Apache", points, x, y, func(p point) float64 { return p.apache })
	line(b, "#2a7", "Jackdaw", points, x, y, func(p point) float64 { return p.jackdaw })
}

func line(b *strings.Builder, color, name string, points []point, x, y func(float64) float64, of func(point) float64) {
	var at []string
	for _, p := range points {
		at = append(at, fmt.Sprintf("%.1f,%.1f", x(p.x), y(of(p))))
	}
	last := points[len(points)-1]
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(at, " "), color)
	b.WriteString(label(x(last.x), int(y(of(last)))-6, "end", name))
}
