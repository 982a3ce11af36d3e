package cli

import (
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
	for _, row := range all {
		used := 0
		for i, cell := range row {
			if i == len(row)-1 {
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
		s.printf("%s\n", line)
	}
}

// fit is a text in at most so many letters.
func fit(text string, letters int) string {
	if r := []rune(text); len(r) > letters {
		return string(r[:letters-1]) + "…"
	}
	return text
}
