package planner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// parseJSON reads one JSON text by RFC 8259 and I-JSON: duplicate keys, lone
// surrogates and data after the value are errors (P11, P23, P30).
func parseJSON(src []byte, r *reporter) *tree {
	p := &jsonParser{src: src, lines: lineStarts(src), r: r}
	if d := jsonDepth(src); d > MaxDepth {
		r.error(nil, "", "document.depth", "", "nested %d levels deep; at most %d are allowed", d, MaxDepth)
		return nil
	}
	p.dec = jsontext.NewDecoder(bytes.NewReader(src))
	t, err := p.value()
	if err == nil {
		if _, err = p.dec.ReadToken(); errors.Is(err, io.EOF) {
			return t
		}
		if err == nil {
			err = errors.New("data after the JSON value")
		}
	}
	p.fail(err)
	return nil
}

type jsonParser struct {
	src   []byte
	lines []int
	dec   *jsontext.Decoder
	r     *reporter
}

// lineStarts holds the offset of each line's first byte.
func lineStarts(src []byte) []int {
	starts := []int{0}
	for i, c := range src {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func (p *jsonParser) position(offset int) (line, column int) {
	i := sort.SearchInts(p.lines, offset+1) - 1
	return i + 1, len([]rune(string(p.src[p.lines[i]:min(offset, len(p.src))]))) + 1
}

func (p *jsonParser) fail(err error) {
	offset := int(p.dec.InputOffset())
	code, message := "json.syntax", err.Error()
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = int(e.ByteOffset)
		message = strings.TrimPrefix(e.Err.Error(), "jsontext: ")
		if errors.Is(err, jsontext.ErrDuplicateName) {
			code = "json.duplicate_key"
			message = fmt.Sprintf("key %s stands twice", clip(e.JSONPointer.LastToken()))
		}
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		code, message = "plan.not_object", "the document is empty"
	}
	line, column := p.position(offset)
	p.r.error(&tree{line: line, column: column}, "", code, "", "%s", message)
}

// value reads one value; the decoder has checked the grammar.
func (p *jsonParser) value() (*tree, error) {
	p.dec.PeekKind() // moves over blanks and separators
	before := int(p.dec.InputOffset())
	tok, err := p.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	t := &tree{}
	t.line, t.column = p.position(p.skip(before))
	switch tok.Kind() {
	case 'n':
	case 't', 'f':
		t.kind, t.text = treeBool, tok.String()
	case '"':
		t.kind, t.text = treeString, tok.String()
	case '0':
		t.kind, t.text = treeNumber, tok.String()
		checkNumber(t, p.r)
	case '[':
		t.kind = treeList
		for p.dec.PeekKind() != ']' {
			e, err := p.value()
			if err != nil {
				return nil, err
			}
			t.items = append(t.items, e)
		}
		_, err = p.dec.ReadToken()
	case '{':
		t.kind = treeMap
		for p.dec.PeekKind() != '}' {
			k, err := p.value()
			if err != nil {
				return nil, err
			}
			v, err := p.value()
			if err != nil {
				return nil, err
			}
			t.keys, t.items = append(t.keys, k), append(t.items, v)
		}
		_, err = p.dec.ReadToken()
	}
	return t, err
}

// skip finds where the token begins that follows offset.
func (p *jsonParser) skip(offset int) int {
	for offset < len(p.src) && strings.IndexByte(" \t\r\n,:", p.src[offset]) >= 0 {
		offset++
	}
	return offset
}
