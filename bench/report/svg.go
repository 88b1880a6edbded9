package report

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

const (
	svgRow   = 24  // height of a bar with its gap
	svgLeft  = 380 // width of the names
	svgWidth = 900
	svgTop   = 56
)

// SVG draws the ratios that have goals, on a logarithmic scale around 1: a bar to the left is less than Apache needs, a
// bar to the right is more than Apache reaches. Ticks mark the goals.
func (r Report) SVG() string {
	var rows []Row
	most := 2.0 // how many times, in either direction, the scale holds
	for _, row := range r.Rows {
		ratio := Median(row.Ratios())
		if row.Goal == 0 || math.IsNaN(ratio) || ratio <= 0 {
			continue
		}
		rows = append(rows, row)
		most = max(most, ratio, 1/ratio, row.Goal, 1/row.Goal)
	}
	s := scale{most: most}
	var b strings.Builder
	height := svgTop + svgRow*len(rows) + 16
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", svgWidth, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", svgWidth, height)
	b.WriteString(label(12, 20, "start", "Jackdaw in parts of Apache Kafka 3.9.2: medians; the dark ticks are the goals"))
	s.grid(&b, height)
	for i, row := range rows {
		s.bar(&b, row, svgTop+svgRow*i)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

type scale struct{ most float64 }

// x is where a ratio lies.
func (s scale) x(ratio float64) float64 {
	const half = (svgWidth - svgLeft - 60) / 2
	return svgLeft + half + half*math.Log(ratio)/math.Log(s.most)
}

func (s scale) grid(b *strings.Builder, height int) {
	for _, v := range []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100} {
		if v > s.most || 1/v > s.most {
			continue
		}
		x := s.x(v)
		fmt.Fprintf(b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#ccc"/>`+"\n", x, svgTop-8, x, height-8)
		b.WriteString(label(x, svgTop-12, "middle", fmt.Sprintf("%gx", v)))
	}
}

func (s scale) bar(b *strings.Builder, row Row, y int) {
	color := "#2a7"
	if !row.Met() {
		color = "#c63"
	}
	ratio := Median(row.Ratios())
	from, to := s.x(1), s.x(ratio)
	fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", min(from, to), y, math.Abs(to-from), svgRow-8, color)
	fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="3" height="%d" fill="#333"/>`+"\n", s.x(row.Goal)-1.5, y-2, svgRow-4)
	b.WriteString(label(svgLeft-8, y+12, "end", row.Load+": "+row.Metric))
	b.WriteString(label(svgWidth-8, y+12, "end", number(ratio)+"x"))
}

func label(x float64, y int, anchor, text string) string {
	var escaped strings.Builder
	if err := xml.EscapeText(&escaped, []byte(text)); err != nil {
		return ""
	}
	return fmt.Sprintf(`<text x="%.1f" y="%d" text-anchor="%s">%s</text>`+"\n", x, y, anchor, escaped.String())
}
