package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kairosd/kairosd/internal/kairos"
)

// compileSchema compiles a JSON Schema given as a JSON value. References to
// other documents are refused: nothing is loaded from anywhere.
func compileSchema(v any) (*jsonschema.Schema, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %s; other documents are not loaded", url)
}

// validate checks a JSON value against a schema; what names the value.
func validate(schema any, raw kairos.RawJSON, what string) error {
	s, err := compileSchema(schema)
	if err != nil {
		return kairos.Errorf(kairos.CodeInvalid, "the schema of the %s is not a JSON Schema: %w", what, err)
	}
	if len(raw) == 0 {
		raw = kairos.RawJSON("null")
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return kairos.Errorf(kairos.CodeInvalid, "%s: %w", what, err)
	}
	err = s.Validate(v)
	if err == nil {
		return nil
	}
	ve, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return kairos.Errorf(kairos.CodeInvalid, "%s: %w", what, err)
	}
	var lines []string
	for _, unit := range ve.BasicOutput().Errors {
		if unit.Error == nil {
			continue
		}
		at := strings.ReplaceAll(strings.TrimPrefix(unit.InstanceLocation, "/"), "/", ".")
		if at == "" {
			at = what
		}
		lines = append(lines, fmt.Sprintf("%s: %s", at, unit.Error.String()))
	}
	if len(lines) == 0 {
		lines = []string{err.Error()}
	}
	return &kairos.Error{Code: kairos.CodeInvalid, Message: fmt.Sprintf("the %s does not fit: %s", what, strings.Join(lines, "; ")), Cause: err}
}

func validateRaw(schema, raw kairos.RawJSON, what string) error {
	v, err := decode(schema)
	if err != nil {
		return kairos.Errorf(kairos.CodeCorrupt, "stored schema: %w", err)
	}
	return validate(v, raw, what)
}
