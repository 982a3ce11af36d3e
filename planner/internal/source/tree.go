package source

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/planner/message"
)

// Limits of a document.
const (
	MaxDocument = 1 << 20 // bytes
	MaxDepth    = 64
	maxAliases  = 10_000 // nodes that aliases may expand to
)

// Reporter receives the problems of a document.
type Reporter interface {
	// Error and Warn report a problem at a position. node is the step that it belongs to, or empty.
	Error(at *Tree, node, code string, suggestion message.Message, format string, args ...any)
	Warn(at *Tree, node, code string, suggestion message.Message, format string, args ...any)
	// Suggest returns the nearest of the names, or otherwise if none is near.
	Suggest(word string, names func() []string, otherwise message.Message) message.Message
}

// Kind is the JSON kind of a value.
type Kind int

const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Map
)

// Localize returns the kind with its article.
func (k Kind) Localize() message.Message { return message.Message{Text: k.String()} }

func (k Kind) String() string {
	return [...]string{"null", "true or false", "a number", "text", "a list", "an object"}[k]
}

// Tree is the value of a document with positions, from YAML or JSON.
type Tree struct {
	Kind         Kind
	Text         string // scalars: the text; numbers: as JSON writes them
	Items        []*Tree
	Keys         []*Tree // of a map: strings, parallel to items
	index        map[string]int
	Line, Column int
}

// bigMap is the number of keys above which a map is indexed.
const bigMap = 16

// Get returns the value of a key, or nil.
func (t *Tree) Get(key string) *Tree {
	if t == nil {
		return nil
	}
	if t.index != nil {
		if i, ok := t.index[key]; ok {
			return t.Items[i]
		}
		return nil
	}
	for i, k := range t.Keys {
		if k.Text == key {
			return t.Items[i]
		}
	}
	return nil
}

// IndexKeys prepares a large map for get; called once, when the map is complete.
func (t *Tree) IndexKeys() {
	t.index = nil
	if len(t.Keys) <= bigMap {
		return
	}
	t.index = make(map[string]int, len(t.Keys))
	for i, k := range t.Keys {
		t.index[k.Text] = i
	}
}

// Value returns the value without positions.
func (t *Tree) Value() any {
	switch t.Kind {
	case Null:
		return nil
	case Bool:
		return t.Text == "true"
	case Number:
		return json.Number(t.Text)
	case String:
		return t.Text
	case List:
		list := make([]any, len(t.Items))
		for i, e := range t.Items {
			list[i] = e.Value()
		}
		return list
	}
	m := make(map[string]any, len(t.Keys))
	for i, k := range t.Keys {
		m[k.Text] = t.Items[i].Value()
	}
	return m
}

// At follows keys and indexes as far as they exist, for positions.
func (t *Tree) At(steps []string) *Tree {
	for _, s := range steps {
		if t == nil {
			return nil
		}
		var next *Tree
		switch t.Kind {
		case Map:
			next = t.Get(s)
		case List:
			if i, err := strconv.Atoi(s); err == nil && 0 <= i && i < len(t.Items) {
				next = t.Items[i]
			}
		}
		if next == nil {
			return t
		}
		t = next
	}
	return t
}

// Set adds a key without a position to a map.
func (t *Tree) Set(key string, value *Tree) {
	t.Keys, t.Items = append(t.Keys, &Tree{Kind: String, Text: key}), append(t.Items, value)
}

// Remove removes a key from a map, and returns its value.
func (t *Tree) Remove(key string) *Tree {
	i := slices.IndexFunc(t.Keys, func(k *Tree) bool { return k.Text == key })
	if i < 0 {
		return nil
	}
	v := t.Items[i]
	t.Keys, t.Items, t.index = slices.Delete(slices.Clone(t.Keys), i, i+1), slices.Delete(slices.Clone(t.Items), i, i+1), nil
	t.IndexKeys()
	return v
}

// Size is the approximate number of bytes of a value in a document.
func (t *Tree) Size() int {
	n := len(t.Text) + 4
	for _, k := range t.Keys {
		n += k.Size()
	}
	for _, v := range t.Items {
		n += v.Size()
	}
	return n
}
