package plan

import (
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
)

// Span is a piece of a marked-up line.
type Span struct{ Class, Text string }

// MarkLines is up to how many lines a document is marked up: beyond it, marks
// would be most of what the browser lays out. It is also how many lines of a document
// one page shows.
const MarkLines = 1000

// Lines is a document, marked up line by line.
func Lines(v domain.Version) [][]Span {
	lines := strings.Split(strings.TrimRight(kit.Visible(string(v.Source)), "\n"), "\n")
	out := make([][]Span, len(lines))
	for i, l := range lines {
		if out[i] = []Span{{Text: l}}; len(lines) <= MarkLines {
			out[i] = highlight(l)
		}
	}
	return out
}

// highlight marks up a line of YAML or JSON: keys, texts, numbers and words,
// comments and references. It is for reading: what is not understood stays plain.
func highlight(line string) []Span {
	var out []Span
	add := func(class, text string) {
		if text == "" {
			return
		}
		if n := len(out); n > 0 && out[n-1].Class == class {
			out[n-1].Text += text
			return
		}
		out = append(out, Span{Class: class, Text: text})
	}
	for rest := line; rest != ""; {
		c := rest[0]
		switch {
		case c == '#' && (len(rest) == len(line) || strings.HasSuffix(line[:len(line)-len(rest)], " ")):
			add("c", rest)
			return out
		case c == '"' || c == '\'':
			n := quotedEnd(rest)
			if key := strings.HasPrefix(strings.TrimLeft(rest[n:], " "), ":"); key && c == '"' {
				add("k", rest[:n])
			} else {
				addText(add, rest[:n])
			}
			rest = rest[n:]
		case strings.ContainsRune(" \t{}[],", rune(c)), c == ':' && (len(rest) == 1 || rest[1] == ' '):
			add("", rest[:1])
			rest = rest[1:]
		case c == '-' && (len(rest) == 1 || rest[1] == ' '):
			add("", rest[:1])
			rest = rest[1:]
		default:
			n := strings.IndexAny(rest, "{}[],")
			if n < 0 || strings.HasPrefix(rest, "${") || strings.Contains(rest[:n], "$") {
				n = len(rest)
			}
			if k := strings.Index(rest[:n], ":"); k > 0 && (k+1 == len(rest) || rest[k+1] == ' ') && !strings.ContainsAny(rest[:k], "\"'") {
				add("k", rest[:k])
				add("", ":")
				rest = rest[k+1:]
				continue
			}
			if k := strings.Index(rest[:n], " #"); k >= 0 {
				n = k + 1
			}
			word := strings.TrimSpace(rest[:n])
			switch _, err := strconv.ParseFloat(word, 64); {
			case err == nil, word == "true", word == "false", word == "null", word == "~":
				add("n", rest[:n])
			default:
				addText(add, rest[:n])
			}
			rest = rest[n:]
		}
	}
	return out
}

// addText adds a text with its references marked up.
func addText(add func(class, text string), s string) {
	for s != "" {
		i := strings.Index(s, "${")
		j := -1
		if i >= 0 {
			j = strings.Index(s[i:], "}")
		}
		if i < 0 || j < 0 {
			add("s", s)
			return
		}
		add("s", s[:i])
		add("v", s[i:i+j+1])
		s = s[i+j+1:]
	}
}

// quotedEnd is where a quoted text ends that a string begins with.
func quotedEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return len(s)
}
