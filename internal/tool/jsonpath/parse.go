package jsonpath

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Parse compiles a query, which begins with $. The error is a *SyntaxError.
func Parse(text string) (*Path, error) {
	if len(text) > maxText {
		return nil, &SyntaxError{Message: fmt.Sprintf("query of %d bytes; at most %d are allowed", len(text), maxText), Column: 1}
	}
	if !utf8.ValidString(text) {
		return nil, &SyntaxError{Message: "not valid UTF-8", Column: 1}
	}
	p := &parser{text: text}
	if !p.accept("$") {
		return nil, p.errorf("a query must begin with $")
	}
	segments, err := p.segments()
	if err == nil && p.at < len(text) {
		err = p.errorf("unexpected %q", p.rest()[:1])
	}
	if err != nil {
		return nil, err
	}
	return &Path{segments: segments}, nil
}

type parser struct {
	text  string
	at    int
	depth int
}

func (p *parser) errorf(format string, args ...any) error {
	return &SyntaxError{Message: fmt.Sprintf(format, args...), Column: p.at + 1}
}

func (p *parser) rest() string { return p.text[p.at:] }

func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) accept(token string) bool {
	if strings.HasPrefix(p.rest(), token) {
		p.at += len(token)
		return true
	}
	return false
}

func (p *parser) blanks() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// segments parses all following segments.
func (p *parser) segments() ([]segment, error) {
	var list []segment
	for {
		start := p.at
		p.blanks()
		var s segment
		var err error
		switch {
		case p.accept(".."):
			s.descendant = true
			if p.peek() == '[' {
				s.selectors, err = p.bracket()
			} else {
				s.selectors, err = p.shorthand()
			}
		case p.accept("."):
			s.selectors, err = p.shorthand()
		case p.peek() == '[':
			s.selectors, err = p.bracket()
		default:
			p.at = start // the white space belongs to the following text
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
}

// shorthand parses * or a name after a dot.
func (p *parser) shorthand() ([]selector, error) {
	if p.accept("*") {
		return []selector{wildcardSelector{}}, nil
	}
	start := p.at
	for p.at < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.rest())
		if !(r == '_' || r >= 0x80 || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || p.at > start && '0' <= r && r <= '9') {
			break
		}
		p.at += size
	}
	if p.at == start {
		return nil, p.errorf("missing name or *; write other names as ['name']")
	}
	return []selector{nameSelector(p.text[start:p.at])}, nil
}

func (p *parser) bracket() ([]selector, error) {
	p.at++ // [
	var list []selector
	for {
		p.blanks()
		s, err := p.selector()
		if err != nil {
			return nil, err
		}
		list = append(list, s)
		p.blanks()
		switch {
		case p.accept(","):
		case p.accept("]"):
			return list, nil
		default:
			return nil, p.errorf("expected , or ]")
		}
	}
}

func (p *parser) selector() (selector, error) {
	switch c := p.peek(); {
	case c == '\'' || c == '"':
		s, err := p.quoted()
		return nameSelector(s), err
	case c == '*':
		p.at++
		return wildcardSelector{}, nil
	case c == '?':
		p.at++
		test, err := p.or()
		return filterSelector{test}, err
	case c == ':' || c == '-' || '0' <= c && c <= '9':
		return p.indexOrSlice()
	}
	return nil, p.errorf("expected a name in quotes, an index, a slice, * or ?")
}

func (p *parser) indexOrSlice() (selector, error) {
	start, err := p.integer()
	if err != nil {
		return nil, err
	}
	mark := p.at
	p.blanks()
	if !p.accept(":") {
		p.at = mark
		return indexSelector(*start), nil
	}
	s := sliceSelector{start: start, step: 1}
	p.blanks()
	if s.end, err = p.integer(); err != nil {
		return nil, err
	}
	mark = p.at
	p.blanks()
	if !p.accept(":") {
		p.at = mark
		return s, nil
	}
	p.blanks()
	step, err := p.integer()
	if err != nil {
		return nil, err
	}
	if step != nil {
		s.step = *step
	}
	return s, nil
}

// maxInt is the largest exact integer of I-JSON.
const maxInt = 1<<53 - 1

// integer parses an optional integer.
func (p *parser) integer() (*int64, error) {
	start := p.at
	p.accept("-")
	for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		p.at++
	}
	text := p.text[start:p.at]
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text || n > maxInt || n < -maxInt {
		p.at = start
		return nil, p.errorf("%s is not an index", text)
	}
	return &n, nil
}

// quoted parses a string in single or double quotes.
func (p *parser) quoted() (string, error) {
	quote := p.text[p.at]
	start := p.at
	p.at++
	var b strings.Builder
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == quote:
			p.at++
			return b.String(), nil
		case c < ' ':
			return "", p.errorf("control character in a string")
		case c == '\\':
			p.at++
			if err := p.escape(&b, quote); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
			p.at++
		}
	}
	p.at = start
	return "", p.errorf("unclosed string")
}

func (p *parser) escape(b *strings.Builder, quote byte) error {
	c := p.peek()
	p.at++
	switch c {
	case quote, '\\', '/':
		b.WriteByte(c)
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case 't':
		b.WriteByte('\t')
	case 'u':
		r, ok := p.hex()
		if ok && utf16.IsSurrogate(r) {
			var low rune
			if ok = p.accept(`\u`); ok {
				low, ok = p.hex()
				r = utf16.DecodeRune(r, low)
				ok = ok && r != utf8.RuneError
			}
		}
		if !ok {
			return p.errorf("malformed \\u escape")
		}
		b.WriteRune(r)
	default:
		p.at--
		return p.errorf("unknown escape")
	}
	return nil
}

func (p *parser) hex() (rune, bool) {
	if len(p.rest()) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(p.rest()[:4], 16, 32)
	if err != nil {
		return 0, false
	}
	p.at += 4
	return rune(n), true
}

// number parses a JSON number.
func (p *parser) number() (json.Number, error) {
	start := p.at
	for p.at < len(p.text) && strings.IndexByte("+-.eE0123456789", p.text[p.at]) >= 0 {
		p.at++
	}
	text := p.text[start:p.at]
	if !json.Valid([]byte(text)) {
		p.at = start
		return "", p.errorf("%q is not a number", text)
	}
	return json.Number(text), nil
}
