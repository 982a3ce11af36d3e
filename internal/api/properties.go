package api

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed properties.txt
var propertiesText string

// properties are the descriptions of properties without one in a tag: by schema and
// name, or for all schemas by the name after a star.
func properties() (map[string]string, error) {
	out := map[string]string{}
	for line := range strings.Lines(propertiesText) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, text, ok := strings.Cut(line, ": ")
		if _, twice := out[name]; !ok || twice || !strings.Contains(name, ".") {
			return nil, fmt.Errorf("properties.txt: %q is not a new SCHEMA.PROPERTY: text", line)
		}
		out[name] = text
	}
	return out, nil
}

// describeProperties fills in the descriptions that have no tag. It returns the lines of
// properties.txt that describe nothing.
func describeProperties(schemas map[string]*huma.Schema) (unused []string, err error) {
	texts, err := properties()
	if err != nil {
		return nil, err
	}
	left := maps.Clone(texts)
	for schema, s := range schemas {
		for name, p := range s.Properties {
			if p.Description != "" {
				continue
			}
			for _, key := range []string{schema + "." + name, "*." + name} {
				if text, ok := texts[key]; ok {
					p.Description = text
					delete(left, key)
					break
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(left)), nil
}
