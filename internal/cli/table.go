package cli

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Listed prints a list: as one object, or as a table with a word on stderr about
// what there is besides.
func (s Streams) Listed(asJSON bool, items any, next string, headings []string, rows [][]string, nothing string) error {
	if asJSON {
		var after any
		if next != "" {
			after = next
		}
		return s.Print(map[string]any{"items": items, "next": after})
	}
	s.Table(headings, rows)
	switch {
	case next != "":
		s.Errorf("more with --cursor %s\n", next)
	case len(rows) == 0:
		s.Errorf("%s\n", nothing)
	}
	return nil
}

// Stamp is a moment as lists show it: UTC, to the second.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// FirstLine is a text of others in one line of a terminal.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}

// Table prints rows under headings, each column as wide as its widest cell. On a
// terminal the last column ends where the screen does; programs are better served
// by --json.
func (s Streams) Table(headings []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	widths := make([]int, len(headings))
	all := append([][]string{headings}, rows...)
	for _, row := range all {
		for i, cell := range row {
			row[i] = FirstLine(cell)
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	var b strings.Builder
	last := len(headings) - 1
	for _, row := range all {
		used := 0
		for i, cell := range row {
			if i < last && empty(rows, i) { // a column without information
				continue
			}
			if i == last {
				if room := s.Width - used; s.Width > 0 && room >= 8 {
					cell = Fit(cell, room)
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

// Fit shortens a text to at most this many letters.
func Fit(text string, letters int) string {
	if r := []rune(text); len(r) > letters {
		return string(r[:letters-1]) + "…"
	}
	return text
}
