package variants

import (
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
)

// MaxProfiles is the maximum number of profiles of a plan. Each is checked like a plan of its own.
const MaxProfiles = 10

// Profile is a variant of a plan: settings that replace those of the plan.
type Profile struct {
	Name     string
	settings *source.Tree
}

// The keys that a profile sets. Everything else decides what the plan does, which is the same in all profiles.
var (
	profileKeys  = []string{"values", "limits", "labels", "priority", "timeout", "concurrency", "defaults", "nodes"}
	defaultKeys  = []string{"timeout", "retry"}
	stepKeys     = []string{"agent", "timeout", "retry", "max_parallel", "metadata", "queue"}
	metadataKeys = []string{"model"}
)

// data are the keys whose values may have any members, also those that begin with x-.
var data = []string{"values", "labels", "metadata"}

// Profiles reads the profiles of a document, whose templates are applied. They stay in the tree, without the
// keys that begin with x-.
func Profiles(root *source.Tree, r source.Reporter) (list []Profile) {
	t := root.Get("profiles")
	switch {
	case t == nil || t.Kind == source.Null:
		return nil
	case t.Kind != source.Map:
		r.Error(t, "", "field.type", message.New("write profiles: {NAME: {values: {…}}}"), "profiles must be an object, not %s", t.Kind)
		return nil
	case root.Get("steps") != nil:
		r.Error(t, "", "profile.steps", message.New("convert it to a graph: kairos plans convert"), "a step plan has no profiles")
		return nil
	case len(t.Keys) > MaxProfiles:
		r.Error(t, "", "profile.too_many", message.Message{}, "the plan has %d profiles; at most %d are allowed", len(t.Keys), MaxProfiles)
		return nil
	}
	for i, k := range t.Keys {
		v := t.Items[i]
		if !validName(k.Text) {
			r.Error(k, "", "profile.name", message.New("use up to 64 letters, digits, dots, dashes, and underscores"),
				"invalid profile name %s", jsonvalue.Quote(k.Text))
		}
		if v.Kind == source.Null {
			v.Kind = source.Map // a profile that changes nothing
		}
		withoutExtensions(v)
		checkProfile(root, k.Text, v, r)
		list = append(list, Profile{k.Text, v})
	}
	return list
}

func validName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, ".-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" &&
		!strings.HasPrefix(s, "-")
}

// withoutExtensions removes the keys that begin with x-, except in data.
func withoutExtensions(t *source.Tree) {
	if t.Kind == source.Map {
		for _, k := range slices.Clone(t.Keys) {
			if strings.HasPrefix(k.Text, "x-") {
				t.Remove(k.Text)
			}
		}
	}
	for i, v := range t.Items {
		if t.Kind != source.Map || !slices.Contains(data, t.Keys[i].Text) {
			withoutExtensions(v)
		}
	}
}

// checkProfile reports what a profile cannot set. The values are checked when the plan is decoded with it.
func checkProfile(root *source.Tree, name string, t *source.Tree, r source.Reporter) {
	quoted := jsonvalue.Quote(name)
	if t.Kind != source.Map {
		r.Error(t, "", "field.type", message.New("write the settings that it changes"), "the profile %s must be an object, not %s",
			quoted, t.Kind)
		return
	}
	refuse := func(at *source.Tree, step, of string, known []string) {
		for _, k := range others(at, known) {
			advice := r.Suggest(k.Text, func() []string { return slices.Clone(known) },
				message.New("known keys: %s", strings.Join(slices.Sorted(slices.Values(known)), ", ")))
			r.Error(k, step, "profile.key", advice, "the profile %s cannot set %s", quoted, jsonvalue.Quote(of+k.Text))
		}
	}
	refuse(t, "", "", profileKeys)
	refuse(t.Get("defaults"), "", "defaults.", defaultKeys)
	steps := t.Get("nodes")
	if steps == nil || steps.Kind == source.Null {
		return
	}
	if steps.Kind != source.Map {
		r.Error(steps, "", "field.type", message.New("write nodes as a map from id to settings"), "nodes must be an object, not %s",
			steps.Kind)
		return
	}
	for i, k := range steps.Keys {
		id, step := k.Text, steps.Items[i]
		if section(root, id) == "" {
			r.Error(k, id, "profile.step_unknown", r.Suggest(id, func() []string { return stepNames(root) }, adviceOnStep(root, id)),
				"the profile %s has an unknown step %s", quoted, jsonvalue.Quote(id))
			continue
		}
		if step.Kind != source.Map {
			r.Error(step, id, "field.type", message.New("write the settings that it changes"), "a step must be an object, not %s",
				step.Kind)
			continue
		}
		refuse(step, id, "nodes."+id+".", stepKeys)
		refuse(step.Get("metadata"), id, "nodes."+id+".metadata.", metadataKeys)
	}
}

// others returns the keys of a map that are not in a list.
func others(t *source.Tree, known []string) (list []*source.Tree) {
	if t == nil || t.Kind != source.Map {
		return nil
	}
	for _, k := range t.Keys {
		if !slices.Contains(known, k.Text) {
			list = append(list, k)
		}
	}
	return list
}

// section returns the key of the document that has a step, or "".
func section(root *source.Tree, step string) string {
	for _, key := range []string{"nodes", "finally"} {
		if root.Get(key).Get(step) != nil {
			return key
		}
	}
	return ""
}

func stepNames(root *source.Tree) (names []string) {
	for _, key := range []string{"nodes", "finally"} {
		if t := root.Get(key); t != nil {
			for _, k := range t.Keys {
				names = append(names, k.Text)
			}
		}
	}
	return names
}

// adviceOnStep explains why a step cannot be changed if it is in a block.
func adviceOnStep(root *source.Tree, id string) message.Message {
	if inBlock(root, id) {
		return message.New("it is in a block: give the block the value, such as ${value.NAME}, or set defaults")
	}
	return message.New("name a step of the plan")
}

func inBlock(t *source.Tree, id string) bool {
	for _, key := range []string{"nodes", "finally"} {
		steps := t.Get(key)
		if steps == nil {
			continue
		}
		for _, step := range steps.Items {
			if do := step.Get("do"); do != nil && (section(do, id) != "" || inBlock(do, id)) {
				return true
			}
		}
	}
	return false
}

// Apply returns the document with the settings of the profile, and without profiles. The document itself stays as
// it is. Values keep their position.
func (p Profile) Apply(root *source.Tree) *source.Tree {
	settings := *p.settings
	steps := settings.Remove("nodes")
	out := merge(root, &settings)
	out.Remove("profiles")
	if steps == nil {
		return out
	}
	for _, key := range []string{"nodes", "finally"} {
		own := &source.Tree{Kind: source.Map}
		for i, k := range steps.Keys {
			if section(root, k.Text) == key {
				own.Keys, own.Items = append(own.Keys, k), append(own.Items, steps.Items[i])
			}
		}
		if len(own.Keys) > 0 {
			i := slices.IndexFunc(out.Keys, func(k *source.Tree) bool { return k.Text == key })
			out.Items[i] = merge(out.Items[i], own)
		}
	}
	return out
}

// merge returns base with the members of over. Maps are merged member by member, and any other value replaces
// that of base. Neither is changed, because several steps can share a value of a template.
func merge(base, over *source.Tree) *source.Tree {
	if base == nil || base.Kind != source.Map || over.Kind != source.Map {
		return over
	}
	out := &source.Tree{Kind: source.Map, Line: base.Line, Column: base.Column,
		Keys: slices.Clone(base.Keys), Items: slices.Clone(base.Items)}
	at := make(map[string]int, len(out.Keys))
	for i, k := range out.Keys {
		at[k.Text] = i
	}
	for j, k := range over.Keys {
		if i, ok := at[k.Text]; ok {
			out.Items[i] = merge(out.Items[i], over.Items[j])
		} else {
			out.Keys, out.Items = append(out.Keys, k), append(out.Items, over.Items[j])
		}
	}
	out.IndexKeys()
	return out
}
