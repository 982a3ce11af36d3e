package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// ProfileID is the id of the field for a profile, also as a fragment.
const ProfileID = "profile"

// ProfileField is the field for the profile of runs in a form with the fields plan and version.
type ProfileField struct {
	Form  string // address of the form
	Value string
	// Options are the profiles of the plan and none. They are empty until the form has a plan.
	Options []kit.Option
}

// ProfileFieldOf returns the field of a form with a plan and a version as they were typed.
func ProfileFieldOf(c *ui.Context, plans *app.Plans, form, plan, version, value string) (ProfileField, error) {
	f := ProfileField{Form: form, Value: value}
	number, err := strconv.Atoi(strings.TrimPrefix(version, "v"))
	if plan == "" || err != nil && version != "" {
		return f, nil
	}
	names, err := plans.Profiles(c, c.Principal.Actor(), plan, max(number, 0))
	if domain.CodeOf(err) == domain.CodeNotFound {
		return f, nil
	} else if err != nil {
		return f, err
	}
	if value != "" && !slices.Contains(names, value) {
		names = append(slices.Clone(names), value) // saving it shows the error
	}
	f.Options = []kit.Option{{Text: c.T("none: the plan as written"), Selected: value == ""}}
	for _, name := range names {
		f.Options = append(f.Options, kit.Option{Value: name, Text: name, Selected: name == value})
	}
	return f, nil
}
