package cli

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// table prints rows under headings, each column as wide as its widest cell. On a
// terminal the last column ends where the screen does; programs are better served
// by --json.
func (s Streams) table(headings []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	widths := make([]int, len(headings))
	all := append([][]string{headings}, rows...)
	for _, row := range all {
		for i, cell := range row {
			row[i] = firstLine(cell)
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	var b strings.Builder
	last := len(headings) - 1
	for _, row := range all {
		used := 0
		for i, cell := range row {
			if i < last && empty(rows, i) { // a column that says nothing
				continue
			}
			if i == last {
				if room := s.Width - used; s.Width > 0 && room >= 8 {
					cell = fit(cell, room)
				}
				b.WriteString(cell)
				break
			}
			pad := widths[i] - utf8.RuneCountInString(cell) + 2
			b.WriteString(cell)
			b.WriteString(strings.Repeat(" ", pad))
			used += widths[i] + 2
		}
		line := strings.TrimRight(b.String(), " ")
		b.Reset()
		s.Printf("%s\n", line)
	}
}

func empty(rows [][]string, column int) bool {
	return !slices.ContainsFunc(rows, func(row []string) bool { return row[column] != "" })
}

// fit is a text in at most so many letters.
func fit(text string, letters int) string {
	if r := []rune(text); len(r) > letters {
		return string(r[:letters-1]) + "…"
	}
	return text
}
