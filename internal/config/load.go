package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/kairosd/kairosd/internal/domain"
)

// Load reads a configuration file. An empty path returns the zero configuration. Relative paths in
// the file are relative to the file. The error is CodeInvalid and contains the line.
func Load(path string) (Config, error) {
	var c Config
	if path == "" {
		return c, nil
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return c, domain.Errorf(domain.CodeInvalid, "cannot read the configuration: %w", err)
	}
	if blank(src) {
		return c, nil
	}
	if err := yaml.Load(src, &c, yaml.WithKnownFields()); err != nil {
		return c, domain.Errorf(domain.CodeInvalid, "configuration %s: %s", path, explain(err))
	}
	if err := c.check(); err != nil {
		return c, domain.Errorf(domain.CodeInvalid, "configuration %s: %w", path, err)
	}
	c.resolve(filepath.Dir(path))
	sum := sha256.Sum256(src)
	c.Sum, c.Named = hex.EncodeToString(sum[:]), named(src)
	return c, nil
}

// blank reports a file without any setting: empty, or comments only.
func blank(src []byte) bool {
	for line := range strings.Lines(string(src)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

var notFound = regexp.MustCompile(`field (\S+) not found in type (\S+)`)

// explain converts the loader's errors to lines with suggestions.
func explain(err error) string {
	list, ok := errors.AsType[*yaml.LoadErrors](err)
	if !ok {
		return strings.TrimPrefix(err.Error(), "yaml: ")
	}
	var lines []string
	for _, e := range list.Errors {
		m := notFound.FindStringSubmatch(e.Message)
		if m == nil {
			lines = append(lines, fmt.Sprintf("line %d: %s", e.Mark.Line, e.Message))
			continue
		}
		lines = append(lines, fmt.Sprintf("line %d: %s", e.Mark.Line, unknownKey(m[1], m[2])))
	}
	return strings.Join(lines, "; ")
}

// unknownKey returns a message about a key that a section, given by its Go type, does not have.
func unknownKey(word, goType string) string {
	text, section := fmt.Sprintf("unknown key %q", word), ""
	var keys, elsewhere []string
	for _, p := range places(reflect.TypeFor[Config](), "") {
		if p.of == goType {
			section, keys = p.in, append(keys, p.key)
		}
		if p.key == word {
			elsewhere = append(elsewhere, p.where())
		}
	}
	if section != "" {
		text += " in " + section
	}
	if near := nearest(word, keys); near != "" {
		return text + fmt.Sprintf(" (did you mean %s?)", near)
	}
	if len(elsewhere) > 0 {
		text += fmt.Sprintf(" (it belongs %s)", strings.Join(elsewhere, " or "))
	}
	return text + has(section, keys)
}

// has lists the keys of a section.
func has(section string, keys []string) string {
	if section == "" {
		return ""
	}
	slices.Sort(keys)
	return fmt.Sprintf("; %s has %s", section, strings.Join(slices.Compact(keys), ", "))
}

// place is a position of a key in the configuration. of is the Go type of its section.
type place struct{ key, in, of string }

func (p place) where() string {
	if p.in == "" {
		return "at the top level"
	}
	return "in " + p.in
}

// nearest returns the key that is most similar to a word, or "".
func nearest(word string, keys []string) (best string) {
	distance := len(word)/3 + 1
	for _, key := range keys {
		if d := edits(word, key); d < distance || d == distance && best == "" {
			best, distance = key, d
		}
	}
	return best
}

// places returns the keys of a type, sorted by name and section.
func places(t reflect.Type, in string) []place {
	var out []place
	switch t.Kind() {
	case reflect.Pointer:
		return places(t.Elem(), in)
	case reflect.Slice, reflect.Map:
		return places(t.Elem(), in+".*")
	case reflect.Struct:
		for i := range t.NumField() {
			key, inline := strings.CutSuffix(t.Field(i).Tag.Get("yaml"), ",inline")
			switch {
			case inline:
				out = append(out, places(t.Field(i).Type, in)...)
			case key != "":
				out = append(append(out, place{key, in, t.String()}), places(t.Field(i).Type, strings.TrimPrefix(in+"."+key, "."))...)
			}
		}
	}
	slices.SortFunc(out, func(a, b place) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.in, b.in)) })
	return slices.Compact(out)
}

func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := before
			if a[i-1] != b[j-1] {
				cost++
			}
			before = row[j]
			row[j] = min(row[j]+1, row[j-1]+1, cost)
		}
	}
	return row[len(b)]
}
