// Package variants applies the parts of a document that change others, before the document is decoded.
package variants

import (
	"maps"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
)

// A step with use: has the keys of a template, unless it has them itself. Templates are applied to the tree
// of a document before it is read, so that everything else, such as the version hash, sees plain steps. Values
// keep their position in the template.

// expander applies the templates of a document.
type expander struct {
	r         source.Reporter
	templates map[string]*source.Tree
	order     []string
	used      map[string]bool
	open      []string // templates that are being completed
	complete  map[string]bool
	left      int // bytes that templates may still add
}

// ExpandTemplates applies the templates of a document to its steps, and removes them from the tree. It returns
// those that no step uses.
func ExpandTemplates(root *source.Tree, r source.Reporter) (unused []*source.Tree) {
	x := &expander{r: r, templates: map[string]*source.Tree{}, used: map[string]bool{}, complete: map[string]bool{},
		left: source.MaxDocument}
	if t := root.Remove("templates"); t != nil && t.Kind != source.Null {
		x.enter(t)
	}
	x.plan(root)
	for _, name := range x.order {
		if t := x.templates[name]; !x.used[name] {
			r.Warn(t, "", "template.unused", message.New("remove it, or write use: %s on a step", name), "no step uses the template %s",
				jsonvalue.Quote(name))
			unused = append(unused, t)
		}
	}
	return unused
}

func (x *expander) enter(t *source.Tree) {
	if t.Kind != source.Map {
		x.r.Error(t, "", "field.type", message.New("write templates: {NAME: {type: …}}"), "templates must be an object, not %s", t.Kind)
		return
	}
	for i, k := range t.Keys {
		if v := t.Items[i]; v.Kind != source.Map {
			x.r.Error(v, "", "field.type", message.New("write the keys of a step"), "the template %s must be an object, not %s",
				jsonvalue.Quote(k.Text), v.Kind)
			continue
		}
		x.templates[k.Text] = t.Items[i]
		x.order = append(x.order, k.Text)
	}
}

// plan applies templates to the steps of a plan or a block.
func (x *expander) plan(t *source.Tree) {
	for _, key := range []string{"nodes", "steps", "finally"} {
		if list := t.Get(key); list != nil {
			for i, step := range list.Items {
				id := ""
				if list.Kind == source.Map {
					id = list.Keys[i].Text
				} else if v := step.Get("id"); v != nil {
					id = v.Text
				}
				x.step(step, id)
			}
		}
	}
}

// step applies the template of a step, and those of the steps of its block.
func (x *expander) step(t *source.Tree, id string) {
	if t.Kind != source.Map {
		return
	}
	x.apply(t, id)
	if do := t.Get("do"); do != nil && do.Kind == source.Map {
		x.plan(do)
	}
}

// apply adds the keys of the template that a step or another template uses.
func (x *expander) apply(t *source.Tree, id string) {
	use := t.Get("use")
	if use == nil || use.Kind == source.Null {
		return
	}
	if use.Kind != source.String {
		x.r.Error(use, id, "field.type", message.New("write the name of a template"), "use must be text, not %s", use.Kind)
		return
	}
	from, ok := x.templates[use.Text]
	if !ok {
		x.r.Error(use, id, "template.unknown",
			x.r.Suggest(use.Text, func() []string { return slices.Collect(maps.Keys(x.templates)) },
				message.New("add it under templates:")), "unknown template %s", jsonvalue.Quote(use.Text))
		return
	}
	x.used[use.Text] = true
	if i := slices.Index(x.open, use.Text); i >= 0 {
		x.r.Error(use, id, "template.cycle", message.New("remove use: from one of them"), "templates use each other: %s",
			strings.Join(append(slices.Clone(x.open[i:]), use.Text), " → "))
		return
	}
	if !x.complete[use.Text] {
		x.open = append(x.open, use.Text)
		x.apply(from, "")
		x.open = x.open[:len(x.open)-1]
		x.complete[use.Text] = true
	}
	t.Remove("use")
	if x.left < 0 {
		return // reported
	}
	for i, k := range from.Keys {
		if t.Get(k.Text) != nil {
			continue
		}
		v := from.Items[i]
		if x.left -= k.Size() + v.Size(); x.left < 0 {
			x.r.Error(use, id, "template.size", message.New("split the plan, or move data into its input"),
				"templates make the plan larger than %d bytes", source.MaxDocument)
			return
		}
		if k.Text == "do" {
			own := *v // the block of each step is a document of its own
			v = &own
		}
		t.Keys, t.Items = append(t.Keys, k), append(t.Items, v)
	}
	t.IndexKeys()
}
