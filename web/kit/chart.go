package kit

import (
	"math"
	"strconv"
	"strings"
)

// Chart is a stacked column chart over time.
type Chart struct {
	Label   string // accessible name of the chart
	Legend  []Status
	Columns []ChartColumn
	Ticks   []ChartText // labels of the time axis
	Lines   []ChartText // grid lines with their values
	Marks   []ChartText // labeled points in time, such as restarts
}

// ChartColumn is one column. Href is the address of the data that it counts.
type ChartColumn struct {
	X, W        string
	Label, Href string
	Parts       []ChartPart
}

// ChartPart is one part of a stacked column.
type ChartPart struct {
	Y, H, Class string
	Hatch       bool
}

// ChartText is a text at a position, in percent of the width or the height. Title is the full text
// of a mark. Before aligns the end of the text with the position.
type ChartText struct {
	At, Text, Title string
	Before          bool
}

// ChartData is one column of data, with one count for each class of the chart.
type ChartData struct {
	Counts      []int64
	Label, Href string
}

// The plot area in percent of the height. Marks are above it, time labels below.
const (
	chartTop    = 14.0
	chartBottom = 86.0
)

// Stack builds a stacked column chart. The parts of a column have the given classes, from the
// bottom up. number formats the value of a grid line.
func Stack(data []ChartData, classes []string, number func(int64) string) Chart {
	most := int64(1)
	for _, d := range data {
		most = max(most, sum(d.Counts))
	}
	top := roundUp(most)
	var c Chart
	for _, part := range []int64{0, 1, 2} {
		n := top * part / 2
		c.Lines = append(c.Lines, ChartText{At: Percent(chartY(float64(n) / float64(top))), Text: number(n)})
	}
	w := 100.0 / float64(max(len(data), 1))
	for i, d := range data {
		col := ChartColumn{X: Percent(float64(i) * w), W: Percent(w * .86), Label: d.Label, Href: d.Href}
		below := int64(0)
		for k, n := range d.Counts {
			if n == 0 {
				continue
			}
			y := chartY(float64(below+n) / float64(top))
			h := max(chartY(float64(below)/float64(top))-y, .8)
			col.Parts = append(col.Parts, ChartPart{Y: Percent(y), H: Percent(h), Class: classes[k], Hatch: classes[k] == "g-fail"})
			below += n
		}
		c.Columns = append(c.Columns, col)
	}
	return c
}

// chartY converts a fraction of the plot height to a distance from the top, in percent.
func chartY(share float64) float64 { return chartBottom - share*(chartBottom-chartTop) }

func sum(list []int64) (n int64) {
	for _, x := range list {
		n += x
	}
	return n
}

// roundUp rounds n up to an even number with one or two significant digits.
func roundUp(n int64) int64 {
	step := int64(math.Pow(10, math.Floor(math.Log10(float64(max(n, 1))))))
	step = max(step/2, 2)
	return (n + step - 1) / step * step
}

// Spark returns the points of a sparkline in a box of 100 by 24 units. It returns "" for fewer than
// two values.
func Spark(values []float64) string {
	if len(values) < 2 {
		return ""
	}
	least, most := values[0], values[0]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	span := most - least
	if span == 0 {
		span = 1
	}
	points := make([]string, len(values))
	for i, v := range values {
		x := 100 * float64(i) / float64(len(values)-1)
		y := 22 - 20*(v-least)/span
		points[i] = strconv.FormatFloat(x, 'f', 1, 64) + "," + strconv.FormatFloat(y, 'f', 1, 64)
	}
	return strings.Join(points, " ")
}
