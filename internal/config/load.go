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

// Load reads a configuration file; an empty path gives the zero configuration.
// Relative paths in it are relative to the file. The error is CodeInvalid and
// names the line.
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

// explain turns the loader's errors into lines with suggestions.
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
		line := fmt.Sprintf("line %d: unknown key %q", e.Mark.Line, m[1])
		switch near, in := nearest(m[1]); {
		case near == m[1]:
			line += fmt.Sprintf(" here (it stands %s)", strings.Join(in, ", or "))
		case near != "":
			line += fmt.Sprintf(" (did you mean %s?)", near)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// place is where a key of the configuration stands.
type place struct{ key, in string }

func (p place) where() string {
	if p.in == "" {
		return "at the top"
	}
	return "in " + p.in
}

// nearest is the key of the whole configuration that a typo was closest to, and
// where it stands.
func nearest(word string) (best string, in []string) {
	distance := len(word)/3 + 1
	for _, p := range places(reflect.TypeFor[Config](), "") {
		switch d := edits(word, p.key); {
		case p.key == best:
			in = append(in, p.where())
		case d < distance || d == distance && best == "":
			best, distance, in = p.key, d, []string{p.where()}
		}
	}
	return best, in
}

// places are the keys of a type, by name and then by where they stand.
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
				out = append(append(out, place{key, in}), places(t.Field(i).Type, strings.TrimPrefix(in+"."+key, "."))...)
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
