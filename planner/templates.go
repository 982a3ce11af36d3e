package planner

import (
	"maps"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
)

// A step with use: has the keys of a template, unless it has them itself. Templates are applied to the tree
// of a document before it is read, so that everything else, such as the version hash, sees plain steps. Values
// keep their position in the template.

// expander applies the templates of a document.
type expander struct {
	r         *reporter
	templates map[string]*tree
	order     []string
	used      map[string]bool
	open      []string // templates that are being completed
	complete  map[string]bool
	left      int // bytes that templates may still add
}

// expandTemplates applies the templates of a document to its steps, and removes them from the tree.
func expandTemplates(root *tree, r *reporter) {
	x := &expander{r: r, templates: map[string]*tree{}, used: map[string]bool{}, complete: map[string]bool{}, left: MaxDocument}
	if t := root.remove("templates"); t != nil && t.kind != treeNull {
		x.enter(t)
	}
	x.plan(root)
	for _, name := range x.order {
		if t := x.templates[name]; !x.used[name] {
			r.warn(t, "", "template.unused", message.New("remove it, or write use: %s on a step", name), "no step uses the template %s",
				jsonvalue.Quote(name))
			checkSecrets(t, "", r)
		}
	}
}

func (x *expander) enter(t *tree) {
	if t.kind != treeMap {
		x.r.error(t, "", "field.type", message.New("write templates: {NAME: {type: …}}"), "templates must be an object, not %s", t.kind)
		return
	}
	for i, k := range t.keys {
		if v := t.items[i]; v.kind != treeMap {
			x.r.error(v, "", "field.type", message.New("write the keys of a step"), "the template %s must be an object, not %s",
				jsonvalue.Quote(k.text), v.kind)
			continue
		}
		x.templates[k.text] = t.items[i]
		x.order = append(x.order, k.text)
	}
}

// plan applies templates to the steps of a plan or a block.
func (x *expander) plan(t *tree) {
	for _, key := range []string{"nodes", "steps", "finally"} {
		if list := t.get(key); list != nil {
			for i, step := range list.items {
				id := ""
				if list.kind == treeMap {
					id = list.keys[i].text
				} else if v := step.get("id"); v != nil {
					id = v.text
				}
				x.step(step, id)
			}
		}
	}
}

// step applies the template of a step, and those of the steps of its block.
func (x *expander) step(t *tree, id string) {
	if t.kind != treeMap {
		return
	}
	x.apply(t, id)
	if do := t.get("do"); do != nil && do.kind == treeMap {
		x.plan(do)
	}
}

// apply adds the keys of the template that a step or another template uses.
func (x *expander) apply(t *tree, id string) {
	use := t.get("use")
	if use == nil || use.kind == treeNull {
		return
	}
	if use.kind != treeString {
		x.r.error(use, id, "field.type", message.New("write the name of a template"), "use must be text, not %s", use.kind)
		return
	}
	from, ok := x.templates[use.text]
	if !ok {
		x.r.error(use, id, "template.unknown",
			x.r.suggest(use.text, func() []string { return slices.Collect(maps.Keys(x.templates)) },
				message.New("add it under templates:")), "unknown template %s", jsonvalue.Quote(use.text))
		return
	}
	x.used[use.text] = true
	if i := slices.Index(x.open, use.text); i >= 0 {
		x.r.error(use, id, "template.cycle", message.New("remove use: from one of them"), "templates use each other: %s",
			strings.Join(append(slices.Clone(x.open[i:]), use.text), " → "))
		return
	}
	if !x.complete[use.text] {
		x.open = append(x.open, use.text)
		x.apply(from, "")
		x.open = x.open[:len(x.open)-1]
		x.complete[use.text] = true
	}
	t.remove("use")
	if x.left < 0 {
		return // reported
	}
	for i, k := range from.keys {
		if t.get(k.text) != nil {
			continue
		}
		v := from.items[i]
		if x.left -= size(k) + size(v); x.left < 0 {
			x.r.error(use, id, "template.size", message.New("split the plan, or move data into its input"),
				"templates make the plan larger than %d bytes", MaxDocument)
			return
		}
		if k.text == "do" {
			own := *v // the block of each step is a document of its own
			v = &own
		}
		t.keys, t.items = append(t.keys, k), append(t.items, v)
	}
	t.index = nil
	t.indexKeys()
}

// remove removes a key from a map, and returns its value.
func (t *tree) remove(key string) *tree {
	i := slices.IndexFunc(t.keys, func(k *tree) bool { return k.text == key })
	if i < 0 {
		return nil
	}
	v := t.items[i]
	t.keys, t.items, t.index = slices.Delete(slices.Clone(t.keys), i, i+1), slices.Delete(slices.Clone(t.items), i, i+1), nil
	t.indexKeys()
	return v
}

// size is the approximate number of bytes of a value in a document.
func size(t *tree) int {
	n := len(t.text) + 4
	for _, k := range t.keys {
		n += size(k)
	}
	for _, v := range t.items {
		n += size(v)
	}
	return n
}
