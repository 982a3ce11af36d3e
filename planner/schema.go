package planner

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Schema is a compiled JSON Schema (draft 2020-12 unless it says otherwise).
type Schema struct{ schema *jsonschema.Schema }

// SchemaProblem is one way in which a value does not fit a schema.
type SchemaProblem struct {
	// Path leads to the offending part: keys and indexes.
	Path    []string
	Message string
}

// String gives "a.0.b: message".
func (p SchemaProblem) String() string {
	if len(p.Path) == 0 {
		return p.Message
	}
	return strings.Join(p.Path, ".") + ": " + p.Message
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema may not refer to %s", url)
}

// CompileSchema compiles a schema given as a JSON value. References to other
// documents are refused (P42); patterns are RE2.
func CompileSchema(v any) (*Schema, error) {
	v, err := Normalize(v)
	if err != nil {
		return nil, err
	}
	switch v.(type) {
	case map[string]any, bool:
	default:
		return nil, errors.New("a schema is an object")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.AssertFormat()
	const name = "mem:///schema.json"
	if err := c.AddResource(name, v); err != nil {
		return nil, schemaError(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		return nil, schemaError(err)
	}
	return &Schema{s}, nil
}

func schemaError(err error) error {
	if e, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if v, ok := errors.AsType[*jsonschema.ValidationError](e.Err); ok {
			ps := flatten(v, nil)
			texts := make([]string, len(ps))
			for i, p := range ps {
				texts[i] = p.String()
			}
			return errors.New(strings.Join(texts, "; "))
		}
	}
	return errors.New(strings.ReplaceAll(err.Error(), "mem:///schema.json", ""))
}

// Validate lists everything in which a JSON value does not fit the schema.
func (s *Schema) Validate(v any) []SchemaProblem {
	err := s.schema.Validate(v)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return flatten(e, nil)
	}
	return []SchemaProblem{{Message: err.Error()}}
}

var english = message.NewPrinter(language.English)

// flatten keeps the leaves of the error tree, which name the real cause.
func flatten(e *jsonschema.ValidationError, out []SchemaProblem) []SchemaProblem {
	if len(e.Causes) == 0 {
		text := e.ErrorKind.LocalizedString(english)
		switch k := e.ErrorKind.(type) {
		case *kind.Required:
			text = "missing " + strings.Join(k.Missing, ", ")
		case *kind.AdditionalProperties:
			slices.Sort(k.Properties)
			text = "unknown " + strings.Join(k.Properties, ", ")
		}
		return append(out, SchemaProblem{Path: e.InstanceLocation, Message: text})
	}
	for _, c := range e.Causes {
		out = flatten(c, out)
	}
	return out
}
