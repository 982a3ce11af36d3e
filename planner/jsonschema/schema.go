// Package jsonschema compiles JSON Schemas and checks JSON values. It fetches nothing, and limits the
// time that a schema and a value may take.
package jsonschema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	xtext "golang.org/x/text/message"

	"github.com/kairosd/kairosd/planner/internal/pattern"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
)

const (
	// maxSchemaValues limits a schema, because compiling one takes time that is quadratic in its
	// subschemas.
	maxSchemaValues = 2_000
	// maxSchemaExponent limits the numbers in schemas and their instances, because they are
	// compared as exact fractions.
	maxSchemaExponent = 400
	// maxProblems limits the mismatches of one value.
	maxProblems = 50
	// schemaURL is the base address of every schema. It is never fetched.
	schemaURL = "schema:///document"
)

// Schema is a compiled JSON Schema, of draft 2020-12 unless it names another draft. It is immutable
// and safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
	// shared reports that the cost of each value must be checked before it is validated.
	shared bool
}

// Problem is one mistake in a value or in a schema.
type Problem struct {
	// Path leads to the value: keys and list indexes.
	Path []string `json:"path"`
	// Keyword is the keyword of the schema that the value violates, for example "required".
	Keyword string `json:"keyword,omitempty"`
	Message string `json:"message"`
	// Text is Message with its arguments kept apart.
	Text message.Message `json:"-"`
}

// String returns "items.0.name: message", or only the message if it concerns the whole value.
func (p Problem) String() string {
	if len(p.Path) == 0 {
		return p.Message
	}
	return strings.Join(p.Path, ".") + ": " + p.Message
}

// Localize returns the message with its path.
func (p Problem) Localize() message.Message {
	if p.Text.IsZero() {
		return message.Verbatim(p.String())
	}
	if len(p.Path) == 0 {
		return p.Text
	}
	return message.New("%s: %s", strings.Join(p.Path, "."), p.Text)
}

// Error reports that a JSON value is not a usable JSON Schema.
type Error struct{ Problems []Problem }

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "; ")
}

// Parse compiles a schema given as a JSON value. It fetches nothing: a $ref must lead into
// the schema itself or to a published draft. Patterns are RE2 expressions, whose matching time is
// linear. The error is a [*Error].
func Parse(v any) (*Schema, error) {
	v, err := jsonvalue.Normalize(v)
	if err != nil {
		return nil, schemaError(nil, "%s", err)
	}
	switch v.(type) {
	case bool, map[string]any:
	default:
		return nil, schemaError(nil, "a JSON Schema must be an object")
	}
	if n := countValues(v, maxSchemaValues); n > maxSchemaValues {
		return nil, schemaError(nil, "the schema has more than %d values", maxSchemaValues)
	}
	if at, bad := extremeNumber(v, nil); bad {
		return nil, schemaError(at, "the number is out of range")
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		re, size, err := pattern.Compile(text)
		return sizedPattern{re, size}, err
	})
	if err := c.AddResource(schemaURL, v); err != nil {
		return nil, schemaError(nil, "%s", err)
	}
	compiled, err := compileSchema(c)
	if err != nil {
		return nil, explainSchema(err)
	}
	cycle, dynamic, shared := inspect(compiled)
	switch {
	case cycle != "":
		return nil, schemaError(nil, "$ref leads back to itself at %s", strings.TrimPrefix(cycle, schemaURL))
	case dynamic:
		return nil, schemaError(nil, "$dynamicRef and $recursiveRef are not supported: write $ref")
	}
	// Even the smallest value shows whether parts apply to one value so often that no value could
	// be validated.
	if shared && weigh(context.Background(), compiled, nil) != nil { //seed:schema-weight
		return nil, schemaError(nil, "the schema would apply one part more than %d times to one value", maxSchemaSteps)
	}
	return &Schema{compiled, shared}, nil
}

// Validate returns every mismatch of a JSON value in a stable order, or nil if the value matches.
func (s *Schema) Validate(v any) []Problem { return s.ValidateContext(context.Background(), v) }

// ValidateContext is Validate with a context. If the context ends, its error is the only problem.
func (s *Schema) ValidateContext(ctx context.Context, v any) []Problem {
	v, err := jsonvalue.Normalize(v)
	if err != nil {
		return []Problem{{Message: err.Error()}}
	}
	if at, bad := extremeNumber(v, nil); bad {
		return []Problem{{Path: at, Message: "the number is out of range", Text: message.New("the number is out of range")}}
	}
	if s.shared || countValues(v, freeValues) > freeValues || longText(v) {
		switch err := weigh(ctx, s.compiled, v); {
		case errors.Is(err, errSchemaCost):
			return []Problem{{Message: "the value is too large for its schema: checking it takes too many steps"}}
		case err != nil:
			return []Problem{{Message: err.Error()}}
		}
	}
	if err := ctx.Err(); err != nil {
		return []Problem{{Message: err.Error()}}
	}
	err = s.validate(v)
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return []Problem{{Message: err.Error()}}
	}
	return schemaLeaves(e)
}

func compileSchema(c *jsonschema.Compiler) (s *jsonschema.Schema, err error) {
	defer recovered(&err)
	return c.Compile(schemaURL)
}

func (s *Schema) validate(v any) (err error) {
	defer recovered(&err)
	return s.compiled.Validate(v)
}

// recovered converts a panic of the library to an error, so that no schema ends the program.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("cannot be read: %v", p)
	}
}

func schemaError(at []string, format string, args ...any) *Error {
	return &Error{[]Problem{{Path: at, Message: fmt.Sprintf(format, args...)}}}
}

// explainSchema converts the reason why a schema does not compile.
func explainSchema(err error) *Error {
	if e, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if v, ok := errors.AsType[*jsonschema.ValidationError](e.Err); ok {
			return &Error{schemaLeaves(v)}
		}
	}
	if e, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return schemaError(nil, "%s is not part of the schema, and schemas are never fetched", jsonvalue.Quote(e.URL))
	}
	if e, ok := errors.AsType[*jsonschema.InvalidRegexError](err); ok {
		return schemaError(nil, "invalid regular expression (RE2) %s: %s", jsonvalue.Quote(e.Regex), e.Err)
	}
	if e, ok := errors.AsType[*jsonschema.JSONPointerNotFoundError](err); ok {
		return schemaError(nil, "$ref target %s not found", jsonvalue.Quote("#"+fragment(e.URL)))
	}
	if e, ok := errors.AsType[*jsonschema.AnchorNotFoundError](err); ok {
		return schemaError(nil, "$ref target %s not found", jsonvalue.Quote("#"+fragment(e.Reference)))
	}
	return schemaError(nil, "%s", strings.ReplaceAll(err.Error(), schemaURL, ""))
}

func fragment(url string) string {
	_, after, _ := strings.Cut(url, "#")
	return after
}

// english formats the library's messages. Common kinds have messages of their own below.
var english = xtext.NewPrinter(language.English)

// schemaLeaves lists the innermost causes of a validation error, because those show what to change.
func schemaLeaves(e *jsonschema.ValidationError) []Problem {
	var out []Problem
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(out) >= maxProblems {
			return
		}
		if len(e.Causes) > 0 {
			from := len(out)
			for _, c := range e.Causes {
				walk(c)
			}
			out = append(out[:from], likeliest(e, out[from:])...)
			return
		}
		text := schemaMessage(e.ErrorKind)
		p := Problem{Path: e.InstanceLocation, Message: text.String(), Text: text}
		if at := e.ErrorKind.KeywordPath(); len(at) > 0 {
			p.Keyword = at[0]
		}
		out = append(out, p)
	}
	walk(e)
	slices.SortStableFunc(out, func(a, b Problem) int {
		if c := slices.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return strings.Compare(a.Message, b.Message)
	})
	return slices.CompactFunc(out, func(a, b Problem) bool {
		return slices.Equal(a.Path, b.Path) && a.Message == b.Message
	})
}

// likeliest handles a value that matches no alternative. It drops the alternatives that fail only
// because of the type, because the others probably show what the author meant.
func likeliest(e *jsonschema.ValidationError, causes []Problem) []Problem {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
	default:
		return causes
	}
	otherType := func(p Problem) bool {
		return p.Keyword == "type" && len(p.Path) == len(e.InstanceLocation)
	}
	if !slices.ContainsFunc(causes, func(p Problem) bool { return !otherType(p) }) {
		return causes
	}
	return slices.DeleteFunc(causes, otherType)
}

func schemaMessage(k jsonschema.ErrorKind) message.Message {
	number := func(n any) string { return english.Sprint(n) }
	switch k := k.(type) {
	case *kind.Type:
		return message.New("must be %s, not %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Required:
		return message.New("%s is required", quoteAll(k.Missing))
	case *kind.AdditionalProperties:
		return message.New("unknown key %s", quoteAll(k.Properties))
	case *kind.Enum:
		want := make([]string, 0, len(k.Want))
		for _, v := range k.Want {
			want = append(want, jsonvalue.Quote(jsonvalue.Text(v)))
		}
		return message.New("must be one of %s", strings.Join(want, ", "))
	case *kind.Const:
		return message.New("must be %s", jsonvalue.Quote(jsonvalue.Text(k.Want)))
	case *kind.Pattern:
		return message.New("%s does not match the pattern %s", jsonvalue.Quote(k.Got), jsonvalue.Quote(k.Want))
	case *kind.Format:
		return message.New("%s is not a valid %s", jsonvalue.Quote(jsonvalue.Text(k.Got)), k.Want)
	case *kind.Minimum:
		got, _ := k.Got.Float64()
		want, _ := k.Want.Float64()
		return message.New("minimum: got %s, want %s", number(got), number(want))
	case *kind.Maximum:
		got, _ := k.Got.Float64()
		want, _ := k.Want.Float64()
		return message.New("maximum: got %s, want %s", number(got), number(want))
	case *kind.MinLength:
		return message.New("minLength: got %s, want %s", number(k.Got), number(k.Want))
	case *kind.MaxLength:
		return message.New("maxLength: got %s, want %s", number(k.Got), number(k.Want))
	case *kind.MinItems:
		return message.New("minItems: got %s, want %s", number(k.Got), number(k.Want))
	case *kind.MaxItems:
		return message.New("maxItems: got %s, want %s", number(k.Got), number(k.Want))
	}
	return message.Verbatim(k.LocalizedString(english))
}

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = jsonvalue.Quote(n)
	}
	return strings.Join(quoted, ", ")
}

// sizedPattern is a regular expression and the number of steps it may take for each character.
type sizedPattern struct {
	*regexp.Regexp
	size int
}

// longText reports whether a value contains a text that is expensive to match with patterns.
func longText(v any) bool {
	switch v := v.(type) {
	case string:
		return len(v) > freeText
	case []any:
		return slices.ContainsFunc(v, longText)
	case map[string]any:
		for k, e := range v {
			if len(k) > freeText || longText(e) {
				return true
			}
		}
	}
	return false
}

// noLoader rejects every document that is not in memory.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("schemas are never fetched") }

// countValues counts the values in v, up to the limit.
func countValues(v any, limit int) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if n > limit {
				return n
			}
			n += countValues(e, limit-n)
		}
	case map[string]any:
		for _, e := range v {
			if n > limit {
				return n
			}
			n += countValues(e, limit-n)
		}
	}
	return n
}

// extremeNumber finds a number whose exact fraction would exhaust memory.
func extremeNumber(v any, at []string) ([]string, bool) {
	switch v := v.(type) {
	case json.Number:
		d, ok := jsonvalue.ParseDecimal(string(v))
		return at, !ok || d.Exp > maxSchemaExponent || d.Exp < -maxSchemaExponent || len(d.Digits) > 10*maxSchemaExponent
	case []any:
		for i, e := range v {
			if at, bad := extremeNumber(e, append(at[:len(at):len(at)], fmt.Sprint(i))); bad {
				return at, true
			}
		}
	case map[string]any:
		for k, e := range v {
			if at, bad := extremeNumber(e, append(at[:len(at):len(at)], k)); bad {
				return at, true
			}
		}
	}
	return nil, false
}
