package planner

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"go.yaml.in/yaml/v4"
)

// yamlNode builds the YAML tree. Text that YAML would read as another type is quoted.
func yamlNode(v any) (*yaml.Node, error) {
	switch v := v.(type) {
	case ordered:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, m := range v {
			if m.value == nil {
				continue
			}
			value, err := yamlNode(m.value)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, scalar(m.key), value)
		}
		return n, nil
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, e := range v {
			value, err := yamlNode(e)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, value)
		}
		return n, nil
	case map[string]any:
		o := ordered{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			value := v[k]
			if value == nil {
				value = null
			}
			o = append(o, member{k, value})
		}
		return yamlNode(o)
	case string:
		return scalar(v), nil
	}
	n, err := jsonvalue.Normalize(v)
	if err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	case bool, json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(n)}, nil
	case string:
		return scalar(n), nil
	default:
		return yamlNode(n)
	}
}

// olderWords are words that YAML 1.1 reads as true or false.
var olderWords = map[string]bool{"yes": true, "no": true, "on": true, "off": true, "y": true, "n": true}

// scalar writes text. It quotes text that YAML, or YAML 1.1, would read as another type.
func scalar(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if !source.PlainText(s) || s == "<<" || olderWords[strings.ToLower(s)] {
		n.Style = yaml.DoubleQuotedStyle
	} else if strings.ContainsAny(s, "\u0085\u2028\u2029\ufeff") {
		n.Style = yaml.DoubleQuotedStyle // some parsers treat these characters as line ends
	} else if strings.Contains(s, "\n") {
		n.Style = yaml.LiteralStyle
		if strings.TrimSpace(s) == "" || strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") || strings.ContainsAny(s,
			"\r\t\u0085\u2028\u2029") {
			n.Style = yaml.DoubleQuotedStyle
		}
	} else if _, err := time.Parse("2006-01-02", s); err == nil {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
