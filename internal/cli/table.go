package cli

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Listed prints a list: as one object, or as a table. note prints how to continue the list, or that
// it is empty.
func (s Streams) Listed(asJSON bool, items any, next string, headings []string, rows [][]string, nothing string,
	note func(format string, args ...any)) error {
	if asJSON {
		return s.Items(items, next)
	}
	s.Table(headings, rows)
	switch {
	case next != "":
		note("more items: repeat the command with --cursor %s\n", next)
	case len(rows) == 0:
		note("%s\n", nothing)
	}
	return nil
}

// Items prints a list as one object, as the API does.
func (s Streams) Items(items any, next string) error {
	var cursor any
	if next != "" {
		cursor = next
	}
	return s.Print(map[string]any{"items": items, "nextCursor": cursor, "hasMore": next != ""})
}

// Stamp formats a time for lists: UTC, to the second.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// FirstLine returns the first line of an untrusted text.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}

// Facts prints a title and facts, one per line. It leaves out empty facts.
func (s Streams) Facts(title string, facts [][2]string) {
	width := 0
	for _, f := range facts {
		if f[1] != "" {
			width = max(width, utf8.RuneCountInString(f[0]))
		}
	}
	s.Printf("%s\n", FirstLine(title))
	for _, f := range facts {
		if f[1] != "" {
			s.Printf("  %-*s  %s\n", width, f[0], FirstLine(f[1]))
		}
	}
}

// Table prints rows under headings, each column as wide as its widest cell. It leaves out columns
// without information. On a terminal, it cuts columns until the lines fit, except the first column
// and commands, because people copy them.
func (s Streams) Table(headings []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	var columns []column
	for i, heading := range headings {
		if c := columnOf(heading, i, rows); !c.empty {
			columns = append(columns, c)
		}
	}
	s.fit(columns)
	for line := range len(rows) + 1 {
		var b strings.Builder
		for i, c := range columns {
			cell := Fit(c.cells[line], c.width)
			b.WriteString(cell)
			if i < len(columns)-1 {
				b.WriteString(strings.Repeat(" ", c.width-utf8.RuneCountInString(cell)+2))
			}
		}
		s.Printf("%s\n", strings.TrimRight(b.String(), " "))
	}
}

// column is a column of a table. Its first cell is the heading.
type column struct {
	cells []string
	width int
	least int // the column is not cut below this width
	empty bool
}

// shortest returns the width below which no column is cut.
const shortest = 8

func columnOf(heading string, at int, rows [][]string) column {
	c := column{cells: []string{heading}, width: utf8.RuneCountInString(heading), empty: true}
	whole := at == 0
	for _, row := range rows {
		cell := FirstLine(row[at])
		c.cells = append(c.cells, cell)
		c.width = max(c.width, utf8.RuneCountInString(cell))
		c.empty = c.empty && cell == ""
		whole = whole || strings.HasPrefix(cell, "kairos ")
	}
	if c.least = shortest; whole {
		c.least = c.width
	}
	return c
}

// fit cuts the last column, then the widest ones, until a line fits the screen.
func (s Streams) fit(columns []column) {
	for s.Width > 0 {
		used, cut := 2*(len(columns)-1), -1
		for i, c := range columns {
			used += c.width
			last := i == len(columns)-1
			if c.width > c.least && (last || cut < 0 || c.width >= columns[cut].width) {
				cut = i
			}
		}
		if used <= s.Width || cut < 0 {
			return
		}
		columns[cut].width--
	}
}

// Fit shortens a text to a number of characters.
func Fit(text string, letters int) string {
	if r := []rune(text); len(r) > letters {
		return string(r[:letters-1]) + "…"
	}
	return text
}
