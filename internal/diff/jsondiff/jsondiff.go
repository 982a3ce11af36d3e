// Package jsondiff lists the differences between two JSON values.
package jsondiff

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// Op is the kind of a change.
type Op string

const (
	Added   Op = "+"
	Removed Op = "-"
	Changed Op = "~"
)

// Change is one difference. Path is the path of the value, such as ".vendor.lines[3].total", or ""
// for the whole value. Old and New are decoded JSON values.
type Change struct {
	Op       Op
	Path     string
	Old, New any
}

// Diff lists the differences between two values that were decoded with exact numbers (json.Number).
// It compares objects by key, and lists by position after their common start and end. It lists at
// most most changes; more reports that there are others. Volatile changes come last.
func Diff(a, b any, most int) (changes []Change, more bool) {
	d := &differ{most: most}
	d.value("", a, b)
	slices.SortStableFunc(d.changes, func(x, y Change) int { return rank(x) - rank(y) })
	return d.changes, d.more
}

// Equal reports whether two values are the same. Numbers are compared by their text, so 1 and 1.0
// differ, as they do for a reader.
func Equal(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			if w, ok := y[k]; !ok || !Equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, Equal)
	case json.Number:
		y, ok := b.(json.Number)
		return ok && x == y
	}
	switch b.(type) {
	case map[string]any, []any, json.Number:
		return false
	}
	return a == b
}

func rank(c Change) int {
	if c.Volatile() {
		return 1
	}
	return 0
}

type differ struct {
	changes []Change
	most    int
	more    bool
}

func (d *differ) add(c Change) {
	if len(d.changes) >= d.most {
		d.more = true
		return
	}
	d.changes = append(d.changes, c)
}

func (d *differ) value(path string, a, b any) {
	if d.more {
		return
	}
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			d.object(path, x, y)
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			d.list(path, x, y)
			return
		}
	}
	if !Equal(a, b) {
		d.add(Change{Changed, path, a, b})
	}
}

func (d *differ) object(path string, a, b map[string]any) {
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		p := path + step(k)
		x, was := a[k]
		y, is := b[k]
		switch {
		case !was:
			d.add(Change{Op: Added, Path: p, New: y})
		case !is:
			d.add(Change{Op: Removed, Path: p, Old: x})
		default:
			d.value(p, x, y)
		}
	}
}

// list compares the items between the common start and the common end by position, so that an
// inserted or removed item is one change.
func (d *differ) list(path string, a, b []any) {
	first := 0
	for first < len(a) && first < len(b) && Equal(a[first], b[first]) {
		first++
	}
	ends := 0
	for ends < len(a)-first && ends < len(b)-first && Equal(a[len(a)-1-ends], b[len(b)-1-ends]) {
		ends++
	}
	for i := first; i < max(len(a), len(b))-ends; i++ {
		p := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i >= len(a)-ends:
			d.add(Change{Op: Added, Path: p, New: b[i]})
		case i >= len(b)-ends:
			d.add(Change{Op: Removed, Path: p, Old: a[i]})
		default:
			d.value(p, a[i], b[i])
		}
	}
}

var plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// step returns a key as a part of a path.
func step(key string) string {
	if plain.MatchString(key) {
		return "." + key
	}
	return "[" + strconv.Quote(key) + "]"
}
