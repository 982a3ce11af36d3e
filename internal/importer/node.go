package importer

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// errNotObject reports a file that is YAML, but not an object. Every crontab can be one.
var errNotObject = errors.New("the file is not an object")

// node is a value of a YAML or JSON document. The zero node is an absent value.
type node struct{ n *yaml.Node }

// read parses a document. Aliases are refused, because a few of them can stand for a huge document.
func read(source []byte) (root node, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(bytes.TrimPrefix(source, []byte("\ufeff")), &doc); err != nil {
		return node{}, err
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return node{}, errNotObject
	}
	if line := aliasOf(&doc); line > 0 {
		return node{}, fmt.Errorf("line %d: aliases are not imported; write the value instead", line)
	}
	return node{doc.Content[0]}, nil
}

// aliasOf returns the line of the first alias, or 0.
func aliasOf(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		return n.Line
	}
	for _, c := range n.Content {
		if line := aliasOf(c); line > 0 {
			return line
		}
	}
	return 0
}

func (n node) is() bool     { return n.n != nil && n.n.Tag != "!!null" }
func (n node) isMap() bool  { return n.n != nil && n.n.Kind == yaml.MappingNode }
func (n node) isList() bool { return n.n != nil && n.n.Kind == yaml.SequenceNode }

// line returns the line in the file, from 1.
func (n node) line() int {
	if n.n == nil {
		return 1
	}
	return n.n.Line
}

// get returns the value of a key.
func (n node) get(key string) node {
	if n.isMap() {
		for i := 0; i+1 < len(n.n.Content); i += 2 {
			if n.n.Content[i].Value == key {
				return node{n.n.Content[i+1]}
			}
		}
	}
	return node{}
}

// keys returns the keys of an object.
func (n node) keys() (out []node) {
	if n.isMap() {
		for i := 0; i < len(n.n.Content); i += 2 {
			out = append(out, node{n.n.Content[i]})
		}
	}
	return out
}

// text returns a scalar as text.
func (n node) text() string {
	if n.n == nil || n.n.Kind != yaml.ScalarNode || !n.is() {
		return ""
	}
	return n.n.Value
}

// items returns the elements of a list. Another value is a list of one element.
func (n node) items() (out []node) {
	switch {
	case !n.is():
		return nil
	case !n.isList():
		return []node{n}
	}
	for _, c := range n.n.Content {
		out = append(out, node{c})
	}
	return out
}

// texts returns the elements of a list as texts.
func (n node) texts() (out []string) {
	for _, item := range n.items() {
		out = append(out, item.text())
	}
	return out
}

// value returns the value as JSON has it.
func (n node) value() any {
	if n.n == nil {
		return nil
	}
	switch n.n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for _, key := range n.keys() {
			out[key.text()] = n.get(key.text()).value()
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for _, item := range n.items() {
			out = append(out, item.value())
		}
		return out
	}
	switch n.n.Tag {
	case "!!int", "!!float", "!!bool", "!!null":
		var v any
		if err := n.n.Decode(&v); err == nil {
			return v
		}
	}
	return n.n.Value
}
