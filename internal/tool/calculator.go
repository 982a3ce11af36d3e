package tool

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

const (
	maxFormula = 4096    // in bytes
	maxNesting = 100     // brackets, signs, and powers
	maxBits    = 1 << 15 // of a numerator or denominator: about 9,800 digits
)

func newCalculator() llm.Tool {
	return &function{
		spec: llm.ToolSpec{
			Name: "calculator",
			Description: "Computes an arithmetic expression exactly: 0.1 + 0.2 is 0.3. Operators + - * / % ^ and parentheses; " +
				"% has the sign of its left side; functions min max sum avg abs sign round floor ceil trunc sqrt pow exp ln " +
				"log10; constants pi and e. The result is a number.",
			Effect: walk.EffectPure,
			Schema: object(map[string]any{
				"expression": property("string", "for example (net - cost) * 1.21", "minLength", 1, "maxLength", maxFormula),
				"values": property("object", "numbers by the names that the expression uses",
					"additionalProperties", map[string]any{"type": []any{"number", "string"}}),
			}, "expression"),
		},
		call: func(_ context.Context, args arguments, _ llm.ToolCall) (any, error) {
			values := map[string]*big.Rat{}
			for name, v := range args.object("values") {
				r, ok := parseRat(jsonvalue.Text(v))
				if !ok {
					return nil, invalid("values.%s is not a decimal number", name)
				}
				values[name] = r
			}
			r, err := Evaluate(args.text("expression"), values)
			if err != nil {
				return nil, err
			}
			return formatRat(r), nil
		},
	}
}

// Evaluate computes an arithmetic expression with named values. The result is exact except for
// roots of non-squares, fractional powers, exp, and logarithms. The error is a permanent
// *walk.Failure that contains the column.
func Evaluate(expression string, values map[string]*big.Rat) (*big.Rat, error) {
	if len(expression) > maxFormula {
		return nil, invalid("expression of %d bytes; at most %d are allowed", len(expression), maxFormula)
	}
	f := &formula{text: expression, values: values}
	f.next()
	r, err := f.parse(0, 0)
	if err == nil && f.kind != tokenEnd {
		err = f.errorf("unexpected %s", f.shown())
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenNumber
	tokenName
	tokenOperator
	tokenBad
)

// formula is a Pratt parser that computes while it parses.
type formula struct {
	text   string
	values map[string]*big.Rat
	at     int // start of the current token
	end    int // end of the current token
	kind   tokenKind
	token  string
}

func (f *formula) errorf(format string, args ...any) error {
	return invalid("%s at column %d of %s", message.New(format, args...), utf8.RuneCountInString(f.text[:f.at])+1, clip(f.text))
}

func (f *formula) shown() string {
	if f.kind == tokenEnd {
		return "end"
	}
	return clip(f.token)
}

// next reads the next token.
func (f *formula) next() {
	for f.end < len(f.text) && strings.ContainsRune(" \t\r\n", rune(f.text[f.end])) {
		f.end++
	}
	f.at = f.end
	rest := f.text[f.at:]
	if rest == "" {
		f.kind, f.token = tokenEnd, ""
		return
	}
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case '0' <= r && r <= '9' || r == '.':
		f.kind, size = tokenNumber, numberLength(rest)
	case isWord(r):
		f.kind = tokenName
		for size < len(rest) && isWord(rune(rest[size])) || size < len(rest) && '0' <= rest[size] && rest[size] <= '9' {
			size++
		}
	case strings.ContainsRune("+-*/%^(),", r):
		f.kind = tokenOperator
		if strings.HasPrefix(rest, "**") {
			size = 2
		}
	case r == '×' || r == '÷' || r == '−': // characters in copied formulas
		f.kind = tokenOperator
	default:
		f.kind = tokenBad
	}
	f.end = f.at + size
	f.token = f.text[f.at:f.end]
	switch f.token {
	case "×":
		f.token = "*"
	case "÷":
		f.token = "/"
	case "−":
		f.token = "-"
	case "**":
		f.token = "^"
	}
}

func isWord(r rune) bool { return r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// numberLength returns the length of a literal. A malformed literal is detected later.
func numberLength(s string) int {
	i := 0
	for i < len(s) && ('0' <= s[i] && s[i] <= '9' || s[i] == '.') {
		i++
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		digits := j
		for j < len(s) && '0' <= s[j] && s[j] <= '9' {
			j++
		}
		if j > digits {
			i = j
		}
	}
	return i
}

// Binding powers; a sign binds tighter than a product and looser than a power,
// so that -2^2 is -4 and 2^-1 is 0.5.
const (
	bindSum   = 10
	bindTerm  = 20
	bindSign  = 30
	bindPower = 40
)

func binding(operator string) int {
	switch operator {
	case "+", "-":
		return bindSum
	case "*", "/", "%":
		return bindTerm
	case "^":
		return bindPower
	}
	return 0
}

func (f *formula) parse(least, depth int) (*big.Rat, error) {
	if depth > maxNesting {
		return nil, f.errorf("nested deeper than %d levels", maxNesting)
	}
	left, err := f.operand(depth)
	for err == nil && f.kind == tokenOperator {
		operator, bind := f.token, binding(f.token)
		if bind == 0 || bind <= least {
			break
		}
		at := *f
		f.next()
		right := bind
		if operator == "^" {
			right-- // right associative: 2^3^2 is 2^9
		}
		var r *big.Rat
		if r, err = f.parse(right, depth+1); err != nil {
			break
		}
		if left, err = apply(operator, left, r); err != nil {
			err = at.errorf("%s", err)
		}
	}
	return left, err
}

func (f *formula) operand(depth int) (*big.Rat, error) {
	switch {
	case f.kind == tokenNumber:
		r, ok := parseRat(f.token)
		if !ok {
			return nil, f.errorf("%s is not a number", clip(f.token))
		}
		f.next()
		return r, nil
	case f.kind == tokenName:
		return f.name(depth)
	case f.token == "(":
		f.next()
		r, err := f.parse(0, depth+1)
		if err != nil {
			return nil, err
		}
		return r, f.expect(")")
	case f.token == "-" || f.token == "+":
		negative := f.token == "-"
		f.next()
		r, err := f.parse(bindSign, depth+1)
		if err == nil && negative {
			r = new(big.Rat).Neg(r)
		}
		return r, err
	case f.kind == tokenEnd:
		return nil, f.errorf("a number is missing")
	}
	return nil, f.errorf("unexpected %s", f.shown())
}

func (f *formula) expect(token string) error {
	if f.token != token {
		return f.errorf("expected %s, found %s", token, f.shown())
	}
	f.next()
	return nil
}

// name parses a value, a constant, or a function call.
func (f *formula) name(depth int) (*big.Rat, error) {
	at := *f
	f.next()
	if f.token != "(" {
		if r, ok := f.values[at.token]; ok {
			return r, nil
		}
		switch at.token {
		case "pi":
			return ratOf(math.Pi)
		case "e":
			return ratOf(math.E)
		}
		return nil, at.errorf("unknown name %s", clip(at.token))
	}
	fn, ok := functions[at.token]
	if !ok {
		return nil, at.errorf("unknown function %s", clip(at.token))
	}
	f.next()
	var list []*big.Rat
	for f.token != ")" {
		r, err := f.parse(0, depth+1)
		if err != nil {
			return nil, err
		}
		if list = append(list, r); f.token != "," {
			break
		}
		f.next()
	}
	if err := f.expect(")"); err != nil {
		return nil, err
	}
	if len(list) < fn.least || fn.most > 0 && len(list) > fn.most {
		return nil, at.errorf("%s does not accept %d arguments", at.token, len(list))
	}
	r, err := fn.call(list)
	if err == nil {
		err = bounded(r)
	}
	if err != nil {
		return nil, at.errorf("%s", err)
	}
	return r, nil
}

func clip(s string) string {
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}
