// Package ansi parses ANSI color sequences of terminals, so that a page can show them as CSS
// classes.
package ansi

import (
	"strconv"
	"strings"
)

// Part is text with one style. Class is a list of c0 … c7 (terminal colors), b (bold), i (italic),
// u (underlined), and d (dim), or empty for plain text.
type Part struct{ Class, Text string }

// maxParts is the maximum number of parts of a line. The last part contains the rest of the line.
const maxParts = 200

// look is the current style.
type look struct {
	color                        int // -1 if none
	bold, dim, italic, underline bool
}

// Split splits a line where its style changes. It removes style sequences, and leaves all other
// control characters to the caller. It ignores background colors and extended colors, because they
// assume another background.
func Split(line string) []Part {
	if !strings.Contains(line, "\x1b[") {
		return []Part{{Text: line}}
	}
	var out []Part
	var text strings.Builder
	now := look{color: -1}
	flush := func() {
		if text.Len() > 0 {
			out = append(out, Part{now.class(), text.String()})
			text.Reset()
		}
	}
	for line != "" {
		at := strings.Index(line, "\x1b[")
		if at < 0 {
			break
		}
		end := at + 2
		for end < len(line) && (line[end] >= '0' && line[end] <= '9' || line[end] == ';') {
			end++
		}
		text.WriteString(line[:at])
		if end == len(line) || line[end] != 'm' { // not a style sequence, so it stays
			text.WriteString(line[at:end])
			line = line[end:]
			continue
		}
		next := now
		next.set(line[at+2 : end])
		line = line[end+1:]
		if next != now && len(out) < maxParts {
			flush()
			now = next
		}
	}
	text.WriteString(line)
	flush()
	return out
}

// set applies the codes of one sequence.
func (l *look) set(codes string) {
	list := strings.Split(codes, ";")
	for i := 0; i < len(list); i++ {
		n, err := strconv.Atoi(list[i])
		switch {
		case err != nil && list[i] != "":
		case n == 0:
			*l = look{color: -1}
		case n == 1:
			l.bold = true
		case n == 2:
			l.dim = true
		case n == 3:
			l.italic = true
		case n == 4:
			l.underline = true
		case n == 22:
			l.bold, l.dim = false, false
		case n == 23:
			l.italic = false
		case n == 24:
			l.underline = false
		case n >= 30 && n <= 37:
			l.color = n - 30
		case n >= 90 && n <= 97:
			l.color = n - 90
		case n == 39:
			l.color = -1
		case n == 38 || n == 48: // an extended color, whose arguments are skipped
			if i+1 < len(list) && list[i+1] == "5" {
				i += 2
			} else {
				i += 4
			}
		}
	}
}

func (l look) class() string {
	var out []string
	if l.color >= 0 {
		out = append(out, "c"+strconv.Itoa(l.color))
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{l.bold, "b"}, {l.dim, "d"}, {l.italic, "i"}, {l.underline, "u"}} {
		if f.on {
			out = append(out, f.name)
		}
	}
	return strings.Join(out, " ")
}
