package versions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/jsonschema"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// CheckValue checks a JSON value against a schema. what names the value in errors.
func CheckValue(ctx context.Context, schema any, raw domain.RawJSON, what string) error {
	s, err := jsonschema.Parse(schema)
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "the schema of the %s is not a JSON Schema: %w", what, err)
	}
	if len(raw) == 0 {
		raw = domain.RawJSON("null")
	}
	v, err := jsonvalue.Decode(raw)
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "%s: %w", what, err)
	}
	problems := s.ValidateContext(ctx, v)
	switch {
	case ctx.Err() != nil:
		return domain.Errorf(domain.CodeUnavailable, "the check of the %s was cancelled: %w", what, ctx.Err())
	case len(problems) == 0:
		return nil
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		if len(p.Path) == 0 {
			p.Path = []string{what}
		}
		lines[i] = p.String()
	}
	text := strings.Join(lines, "; ")
	return &domain.Error{Code: domain.CodeInvalid, Cause: errors.New(text),
		Message: fmt.Sprintf("the %s does not match its schema: %s", what, text)}
}

// CheckStored is CheckValue for a stored schema.
func CheckStored(ctx context.Context, schema, raw domain.RawJSON, what string) error {
	v, err := runstate.Decode(schema)
	if err != nil {
		return domain.Errorf(domain.CodeCorrupt, "stored schema: %w", err)
	}
	return CheckValue(ctx, v, raw, what)
}
