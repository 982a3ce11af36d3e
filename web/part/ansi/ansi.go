// Package ansi reads the colours that programs write for terminals, so that a
// page can show them as classes of its own.
package ansi

import (
	"strconv"
	"strings"
)

// Part is a stretch of text with one look. Class is a list of c0 … c7 (the
// colours of a terminal), b (bold), i (italic), u (underlined) and d (dim);
// empty for plain text.
type Part struct{ Class, Text string }

// maxParts bounds how often a line may change its look; what follows keeps the
// last one.
const maxParts = 200

// look is what the sequences until here have set.
type look struct {
	color                        int // -1: none
	bold, dim, italic, underline bool
}

// Split cuts a line where its look changes. Sequences that set a look go; every
// other control character stays for the caller to show. Background colours and
// colours beyond the eight are left out: they are made for another ground.
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
		if end == len(line) || line[end] != 'm' { // not a look: it is shown as it is
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

// set applies the numbers of one sequence.
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
		case n == 38 || n == 48: // a colour of many: its numbers are none of ours
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
