package start

import (
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonschema"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/form"
	"github.com/kairosd/kairosd/web/ui"
)

// inputProblems adds the missing and invalid fields of the input to the form, at each field and in
// the list above the form. It reports whether there are any.
func inputProblems(c *ui.Context, p *StartPage, schema any, values map[string]any) bool {
	props, required, order := form.Properties(schema)
	wrong := map[string]string{}
	for _, name := range order {
		if _, entered := values[name]; !entered && slices.Contains(required, name) {
			wrong[name] = c.T("Required")
		}
	}
	var rest []string
	compiled, err := jsonschema.Parse(schema)
	if err != nil {
		return false // the engine reports it
	}
	for _, problem := range compiled.Validate(values) {
		switch {
		case len(problem.Path) == 0 && problem.Keyword == "required" && len(wrong) > 0: // the fields already have this error
		case len(problem.Path) == 0 || props[problem.Path[0]] == nil:
			rest = append(rest, strings.Join(append(slices.Clone(problem.Path), c.Message(problemText(problem))), ": "))
		case wrong[problem.Path[0]] == "":
			wrong[problem.Path[0]] = c.Message(problemText(problem))
		}
	}
	for i := range p.Fields {
		f := &p.Fields[i]
		if why := wrong[strings.TrimPrefix(f.Name, "f.")]; why != "" {
			f.Error = kit.Escape(why)
			p.Missing = append(p.Missing, kit.Link{Text: f.Label + ": " + f.Error, Href: "#" + f.ID})
		}
	}
	for _, text := range rest {
		p.Problems = append(p.Problems, kit.Escape(text))
	}
	n := len(p.Missing) + len(p.Problems)
	if n > 0 {
		p.Error = c.N(
			n,
			"The run was not started: %s value is missing or invalid.",
			"The run was not started: %s values are missing or invalid.",
		)
	}
	return n > 0
}

// problemText returns the message of a schema problem.
func problemText(p jsonschema.Problem) domain.Message {
	if p.Text.IsZero() {
		return domain.Verbatim(p.Message)
	}
	return p.Text
}
