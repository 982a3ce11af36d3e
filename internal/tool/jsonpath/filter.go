package jsonpath

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

type (
	// logical is a test in a filter.
	logical interface {
		holds(e *evaluation, current any) bool
	}
	orTest     []logical
	andTest    []logical
	notTest    struct{ of logical }
	existsTest struct{ query *query }
	matchTest  struct {
		value, pattern operand
		whole          bool
		compiled       *compiledPattern // of a literal pattern
	}
	compareTest struct {
		op          string
		left, right operand
	}

	// operand is one side of a comparison; found is false for "nothing".
	operand interface {
		value(e *evaluation, current any) (v any, found bool)
	}
	literal struct{ v any }
	query   struct { // @… or $…
		fromRoot bool
		segments []segment
	}
	lengthOf struct{ of operand }
	countOf  struct{ of *query }
	valueOf  struct{ of *query }
)

func (p *parser) or() (logical, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, p.errorf("nested deeper than %d levels", maxNesting)
	}
	defer func() { p.depth-- }()
	var tests orTest
	for {
		t, err := p.and()
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
		if p.blanks(); !p.accept("||") {
			break
		}
	}
	if len(tests) == 1 {
		return tests[0], nil
	}
	return tests, nil
}

func (p *parser) and() (logical, error) {
	var tests andTest
	for {
		t, err := p.basic()
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
		if p.blanks(); !p.accept("&&") {
			break
		}
	}
	if len(tests) == 1 {
		return tests[0], nil
	}
	return tests, nil
}

// basic parses a negation, a parenthesized expression, a comparison, or an existence test.
func (p *parser) basic() (logical, error) {
	p.blanks()
	negated := false
	if p.peek() == '!' && !strings.HasPrefix(p.rest(), "!=") {
		p.at++
		p.blanks()
		negated = true
	}
	t, err := p.unary(negated)
	if err != nil || !negated {
		return t, err
	}
	return notTest{t}, nil
}

func (p *parser) unary(negated bool) (logical, error) {
	if p.accept("(") {
		t, err := p.or()
		if err != nil {
			return nil, err
		}
		if p.blanks(); !p.accept(")") {
			return nil, p.errorf("expected )")
		}
		return t, nil
	}
	start := p.at
	if name := p.functionName(); name == "match" || name == "search" {
		return p.match(name == "match")
	}
	p.at = start
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	mark := p.at
	p.blanks()
	for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if !p.accept(op) {
			continue
		}
		if negated {
			p.at = start
			return nil, p.errorf("put a negated comparison in parentheses: !(…)")
		}
		p.blanks()
		at := p.at
		right, err := p.operand()
		if err != nil {
			return nil, err
		}
		for _, side := range []struct {
			o  operand
			at int
		}{{left, start}, {right, at}} {
			if q, ok := side.o.(*query); ok && !singular(q.segments) {
				p.at = side.at
				return nil, p.errorf("only a query with names and indexes can be compared")
			}
		}
		return compareTest{op, left, right}, nil
	}
	p.at = mark
	if q, ok := left.(*query); ok {
		return existsTest{q}, nil
	}
	p.at = start
	return nil, p.errorf("missing comparison")
}

// functionName parses `name(`.
func (p *parser) functionName() string {
	for _, name := range []string{"length", "count", "value", "match", "search"} {
		if p.accept(name + "(") {
			return name
		}
	}
	return ""
}

func (p *parser) operand() (operand, error) {
	switch c := p.peek(); {
	case c == '@' || c == '$':
		return p.query()
	case c == '\'' || c == '"':
		s, err := p.quoted()
		return literal{s}, err
	case c == '-' || '0' <= c && c <= '9':
		n, err := p.number()
		return literal{n}, err
	}
	for word, v := range map[string]any{"true": true, "false": false, "null": nil} {
		if p.accept(word) {
			return literal{v}, nil
		}
	}
	start := p.at
	if p.depth++; p.depth > maxNesting {
		return nil, p.errorf("nested deeper than %d levels", maxNesting)
	}
	defer func() { p.depth-- }()
	name := p.functionName()
	p.blanks()
	var out operand
	switch name {
	case "length":
		of, err := p.operand()
		if err != nil {
			return nil, err
		}
		if q, ok := of.(*query); ok && !singular(q.segments) {
			return nil, p.errorf("length requires one value; use count")
		}
		out = lengthOf{of}
	case "count", "value":
		if c := p.peek(); c != '@' && c != '$' {
			return nil, p.errorf("%s requires a query", name)
		}
		q, err := p.query()
		if err != nil {
			return nil, err
		}
		if out = operand(countOf{q}); name == "value" {
			out = valueOf{q}
		}
	default:
		p.at = start
		return nil, p.errorf("expected @, $, a literal or a function")
	}
	if p.blanks(); !p.accept(")") {
		return nil, p.errorf("expected )")
	}
	return out, nil
}

func (p *parser) query() (*query, error) {
	q := &query{fromRoot: p.peek() == '$'}
	p.at++
	if p.depth++; p.depth > maxNesting {
		return nil, p.errorf("nested deeper than %d levels", maxNesting)
	}
	defer func() { p.depth-- }()
	var err error
	q.segments, err = p.segments()
	return q, err
}

func (p *parser) match(whole bool) (logical, error) {
	t := matchTest{whole: whole}
	for i, side := range []*operand{&t.value, &t.pattern} {
		p.blanks()
		o, err := p.operand()
		if err != nil {
			return nil, err
		}
		*side = o
		p.blanks()
		if end := []string{",", ")"}[i]; !p.accept(end) {
			return nil, p.errorf("expected %s", end)
		}
	}
	if l, ok := t.pattern.(literal); ok {
		text, isText := l.v.(string)
		re, err := pattern(text, whole)
		if err != nil || !isText {
			return nil, p.errorf("malformed pattern")
		}
		t.compiled = re
	}
	return t, nil
}

// compiledPattern is a regular expression with the number of its instructions: the maximum number
// of steps per character.
type compiledPattern struct {
	*regexp.Regexp
	size int
}

func pattern(text string, whole bool) (*compiledPattern, error) {
	if whole {
		text = `\A(?:` + text + `)\z`
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > maxPattern {
		return nil, errors.New("the pattern repeats too much")
	}
	return &compiledPattern{re, len(prog.Inst)}, nil
}
