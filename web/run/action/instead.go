package action

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/form"
	"github.com/kairosd/kairosd/web/part/value"
)

// shownItems is the maximum number of items of a step that have separate choices.
const shownItems = 20

// overrides reads the overrides of a fork's steps from the form. The choice for a foreach applies
// to all items without a choice of their own.
func (r *request) overrides(req *domain.ActionRequest) {
	chosen, items := map[string]string{}, map[string][]string{}
	for key := range r.Echo.Request().Form {
		name, ok := strings.CutPrefix(key, "instead.")
		if !ok {
			continue
		}
		chosen[name] = r.Field(key)
		if step, _, ok := strings.Cut(name, "["); ok {
			items[step] = append(items[step], name)
		}
	}
	for name, how := range chosen {
		runs := false
		for _, item := range items[name] {
			runs = runs || chosen[item] == "run"
		}
		if !runs {
			r.override(req, name, how, name)
			continue
		}
		for _, item := range items[name] { // items without a choice of their own
			if chosen[item] == "" {
				r.override(req, item, how, name)
			}
		}
	}
}

// override adds the override of one step. The stub is the text in the field for typedAt.
func (r *request) override(req *domain.ActionRequest, name, how, typedAt string) {
	said := domain.Override{}
	switch how {
	case "recorded":
		said.Recorded = true
	case "stub":
		text := strings.TrimSpace(r.Field("stub." + typedAt))
		if text == "" {
			text = "null"
		}
		j, err := form.JSON(text)
		if err != nil {
			if r.wrong == nil {
				r.wrong = map[string]typed{}
			}
			r.wrong["stub."+typedAt] = typed{text, err.Error()}
			return
		}
		said.Output = j
	default:
		return
	}
	if req.Instead == nil {
		req.Instead = map[string]domain.Override{}
	}
	req.Instead[name] = said
}

// repeats adds the steps whose side effects would happen a second time, with the possible
// overrides.
func (r *request) repeats(p *PreviewPage, pre domain.Preview) {
	for _, s := range pre.Repeats {
		name := fmt.Sprintf("%s#%d", s.Node, s.Visit)
		v := r.repeat(name, kit.StepName(s.Node, s.Visit), s.Given, "run")
		v.What, v.Doubtful = fmt.Sprintf("%s · %s", s.Type, value.Effect(r.Context, s.Effect)), s.Doubtful
		if n := len(s.Items); n > 0 {
			v.What += " · " + r.N(n, "%s item", "%s items")
			v.Each = r.T("The stub of each item")
		}
		if s.Unrecorded {
			v.Choices = slices.DeleteFunc(v.Choices, func(o kit.Option) bool { return o.Value == "recorded" })
		}
		if r.Field("instead."+name) != "" { // the submitted choice, even if items have their own
			v = r.chosen(v, r.Field("instead."+name))
		}
		if len(s.Items) <= shownItems {
			for _, i := range s.Items {
				item := name + "[" + strconv.Itoa(i.Item) + "]"
				own := r.repeat(item, fmt.Sprintf("%s [%d]", kit.StepName(s.Node, s.Visit), i.Item), "", "")
				own = r.chosen(own, r.Field("instead."+item))
				if s.Unrecorded {
					own.Choices = slices.DeleteFunc(own.Choices, func(o kit.Option) bool { return o.Value == "recorded" })
				}
				v.Own = v.Own || r.Field("instead."+item) != ""
				v.Items = append(v.Items, own)
			}
		}
		p.Repeats = append(p.Repeats, v)
	}
}

// repeat returns the choices for one step. first is the default.
func (r *request) repeat(name, label, given, first string) Repeat {
	v := Repeat{Name: name, Label: label, Stub: r.Field("stub." + name), Wrong: r.wrong["stub."+name].why}
	if first == "" {
		v.Choices = append(v.Choices, kit.Option{Value: "", Text: r.T("as all items")})
	}
	v.Choices = append(
		v.Choices,
		kit.Option{Value: "run", Text: r.T("runs a second time")},
		kit.Option{Value: "recorded", Text: r.T("takes its recorded result")},
		kit.Option{Value: "stub", Text: r.T("takes a stub")},
	)
	if v.Wrong != "" {
		given = "stub"
	}
	if given == "" {
		given = first
	}
	return r.chosen(v, given)
}

// chosen selects a choice.
func (r *request) chosen(v Repeat, value string) Repeat {
	for i := range v.Choices {
		v.Choices[i].Selected = v.Choices[i].Value == value
	}
	return v
}
