package source

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
)

// ParseJSON reads one JSON text as RFC 8259 and I-JSON define it. Duplicate keys, lone surrogates,
// and data after the value are errors.
func ParseJSON(src []byte, r Reporter) *Tree {
	p := &jsonParser{src: src, line: 1, r: r}
	if offset := tooDeepJSON(src); offset >= 0 {
		line, column := p.position(offset)
		r.Error(&Tree{Line: line, Column: column}, "", "document.depth", message.Message{},
			"the document is nested deeper than %d levels", MaxDepth)
		return nil
	}
	p.dec = jsontext.NewDecoder(bytes.NewReader(src))
	t, err := p.value()
	if err == nil {
		p.end = int(p.dec.InputOffset())
		if _, err = p.dec.ReadToken(); errors.Is(err, io.EOF) {
			return t
		}
		err = errTrailing
	}
	p.fail(err)
	return nil
}

type jsonParser struct {
	src []byte
	dec *jsontext.Decoder
	r   Reporter
	// line and column (from 0, in characters) are the position of offset at.
	line, column, at int
	first            int // line of a duplicate key's first occurrence
	end              int // offset after the value
}

var errTrailing = errors.New("data after the JSON value")

// tooDeepJSON finds the first bracket beyond the depth limit without parsing, or returns -1.
func tooDeepJSON(src []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > MaxDepth {
				return i
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return -1
}

// position converts an offset to a line and a column. Offsets only grow, so that all calls together
// read the source once.
func (p *jsonParser) position(offset int) (line, column int) {
	for ; p.at < min(offset, len(p.src)); p.at++ {
		switch c := p.src[p.at]; {
		case c == '\n':
			p.line, p.column = p.line+1, 0
		case c&0xC0 != 0x80: // not inside a character
			p.column++
		}
	}
	return p.line, p.column + 1
}

func (p *jsonParser) fail(err error) {
	offset := int(p.dec.InputOffset())
	code, text, suggestion := "json.syntax", err.Error(), message.Message{}
	e, syntactic := errors.AsType[*jsontext.SyntacticError](err)
	if syntactic {
		offset = int(e.ByteOffset)
		text = strings.TrimPrefix(e.Err.Error(), "jsontext: ")
	}
	what := message.Verbatim(text)
	switch {
	case len(bytes.TrimSpace(p.src)) == 0:
		code, what, suggestion = "plan.not_object", message.New("the document is empty"), message.New("write nodes and edges, or steps")
	case errors.Is(err, jsontext.ErrDuplicateName):
		code, suggestion = "json.duplicate_key", message.New("keep one of them")
		what = message.New("duplicate key %s (first defined on line %d)", jsonvalue.Quote(e.JSONPointer.LastToken()), p.first)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		offset, what = len(p.src), message.New("unexpected end of the document")
	case errors.Is(err, errTrailing):
		code, what, suggestion = "json.trailing_data", message.New("data after the JSON value"), message.New("write one plan per file")
		offset = p.skip(p.end)
	case strings.Contains(text, "surrogate"):
		code, what = "json.surrogate", message.New("unpaired surrogate")
		suggestion = message.New("write the whole pair, or the character itself")
	case offset < len(p.src) && p.src[offset] == ',':
		what, suggestion = message.New("misplaced comma"), message.New("remove it")
	case len(p.src) > 0 && p.src[p.skip(0)%len(p.src)] != '{' && p.src[p.skip(0)%len(p.src)] != '[':
		suggestion = message.New("this does not look like JSON: is it YAML?")
	}
	p.at, p.line, p.column = 0, 1, 0
	line, column := p.position(offset)
	p.r.Error(&Tree{Line: line, Column: column}, "", code, suggestion, "%s", what)
}

// value reads one value. The decoder has checked the grammar.
func (p *jsonParser) value() (*Tree, error) {
	p.dec.PeekKind() // skips blanks and separators
	before := int(p.dec.InputOffset())
	tok, err := p.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	t := &Tree{}
	t.Line, t.Column = p.position(p.skip(before))
	switch tok.Kind() {
	case 'n':
	case 't', 'f':
		t.Kind, t.Text = Bool, tok.String()
	case '"':
		t.Kind, t.Text = String, tok.String()
		checkString(t, p.r)
	case '0':
		t.Kind, t.Text = Number, tok.String()
		checkNumber(t, p.r)
	case '[':
		t.Kind = List
		for p.dec.PeekKind() != ']' {
			e, err := p.value()
			if err != nil {
				return nil, err
			}
			t.Items = append(t.Items, e)
		}
		_, err = p.dec.ReadToken()
	case '{':
		t.Kind = Map
		for p.dec.PeekKind() != '}' {
			k, err := p.value()
			if err != nil {
				return nil, p.duplicate(err, t)
			}
			v, err := p.value()
			if err != nil {
				return nil, err
			}
			t.Keys, t.Items = append(t.Keys, k), append(t.Items, v)
		}
		_, err = p.dec.ReadToken()
		t.IndexKeys()
	}
	return t, err
}

// duplicate records the first position of a key that the decoder rejected.
func (p *jsonParser) duplicate(err error, t *Tree) error {
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(err, jsontext.ErrDuplicateName) {
		for _, k := range t.Keys {
			if k.Text == e.JSONPointer.LastToken() {
				p.first = k.Line
			}
		}
	}
	return err
}

// skip finds the start of the token after offset.
func (p *jsonParser) skip(offset int) int {
	for offset < len(p.src) && strings.IndexByte(" \t\r\n,:", p.src[offset]) >= 0 {
		offset++
	}
	return offset
}
