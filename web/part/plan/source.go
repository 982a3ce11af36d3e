package plan

import (
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
)

// Span is a part of a line with one highlighting class.
type Span struct{ Class, Text string }

// MarkLines is the maximum number of lines of a highlighted document, because the browser's layout
// of more spans takes too long. It is also the number of lines on one page.
const MarkLines = 1000

// Lines returns the lines of a document with highlighting.
func Lines(v domain.Version) [][]Span {
	lines := strings.Split(strings.TrimRight(kit.Escape(string(v.Source)), "\n"), "\n")
	out := make([][]Span, len(lines))
	for i, l := range lines {
		if out[i] = []Span{{Text: l}}; len(lines) <= MarkLines {
			out[i] = highlight(l)
		}
	}
	return out
}

// highlight splits a line of YAML or JSON into keys, texts, numbers, keywords, comments, and
// references. It leaves unrecognized parts plain.
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

// addText adds a text, with its references highlighted.
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

// quotedEnd returns the end of the quoted text at the beginning of s.
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
