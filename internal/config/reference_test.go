package config_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/config"
)

// keysOf lists the keys of a type with their types, in the order of the fields.
func keysOf(t reflect.Type, at string) (out [][2]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		key, inline := strings.CutSuffix(f.Tag.Get("yaml"), ",inline")
		switch {
		case inline:
			out = append(out, keysOf(f.Type, at)...)
			continue
		case key == "" || key == "-":
			continue
		}
		path, typ := at+key, f.Type
		for {
			switch typ.Kind() {
			case reflect.Pointer:
				typ = typ.Elem()
				continue
			case reflect.Map:
				if typ.Elem().Kind() == reflect.Struct {
					path, typ = path+".NAME", typ.Elem()
					continue
				}
			case reflect.Slice:
				if typ.Elem().Kind() == reflect.Struct {
					path, typ = path+"[]", typ.Elem()
					continue
				}
			}
			break
		}
		if typ.Kind() == reflect.Struct {
			out = append(out, keysOf(typ, path+".")...)
			continue
		}
		out = append(out, [2]string{path, kindOf(typ)})
	}
	return out
}

// kindOf returns the name of a type in the reference.
func kindOf(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "duration"
	}
	if t == reflect.TypeFor[config.Consumed]() {
		return "list or map"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return plural("list", t.Elem())
	case reflect.Map:
		if t.Elem().Kind() == reflect.Interface {
			return "map"
		}
		return plural("map", t.Elem())
	}
	return strings.Replace(t.Kind().String(), "interface", "any", 1)
}

// The reference has a row for every key, with its type, and no row for an unknown key.
func TestConfigurationReference(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); strings.HasPrefix(line, "| `") && len(cells) == 4 {
			rows[strings.Trim(cells[0], "| `")] = cells
		}
	}
	for _, k := range keysOf(reflect.TypeFor[config.Config](), "") {
		row := rows[k[0]]
		delete(rows, k[0])
		switch {
		case row == nil:
			t.Errorf("no row: | `%s` | %s | | |", k[0], k[1])
		case row[1] != k[1]:
			t.Errorf("%s: the type is %q, not %q", k[0], k[1], row[1])
		case row[2] == "" || strings.TrimSuffix(row[3], "|") == "":
			t.Errorf("%s has no default or no meaning", k[0])
		}
	}
	for key := range rows {
		t.Errorf("key %q does not exist", key)
	}
}

// Every key of the configuration that a page names in code exists.
func TestKeysOfThePagesExist(t *testing.T) {
	t.Parallel()
	var keys []string
	sections := map[string]bool{}
	for _, k := range keysOf(reflect.TypeFor[config.Config](), "") {
		keys = append(keys, strings.ReplaceAll(k[0], "[]", ""))
		section, _, _ := strings.Cut(k[0], ".")
		sections[section] = true
	}
	named := regexp.MustCompile("`([a-z]+)((?:\\.[a-zA-Z_]+)+):?(?: [^`]*)?`")
	other := []string{"mcp.exit", "mcp.server", "mcp.tool", "mcp.unavailable", "server.tool"} // error codes, and a tool
	found := 0
	err := filepath.WalkDir("../../docs", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".md" || strings.Contains(filepath.ToSlash(file), "/internals/") {
			return err
		}
		page, err := os.ReadFile(file)
		for _, m := range named.FindAllStringSubmatch(string(page), -1) {
			if sections[m[1]] && m[2] == strings.ToLower(m[2]) && !slices.Contains(other, m[1]+m[2]) && !isKey(keys, m[1]+m[2]) {
				t.Errorf("%s names the key %s, which does not exist", file, m[1]+m[2])
			}
			found++
		}
		return err
	})
	if err != nil || found < 50 {
		t.Errorf("%d keys: %v", found, err)
	}
}

// isKey reports whether a key is in a list or contains keys of the list. NAME in the list matches
// any name.
func isKey(keys []string, key string) bool {
	want := strings.Split(key, ".")
	return slices.ContainsFunc(keys, func(k string) bool {
		have := strings.Split(k, ".")
		if len(have) < len(want) {
			return false
		}
		for i, w := range want {
			if have[i] != w && have[i] != "NAME" {
				return false
			}
		}
		return true
	})
}

// plural returns the name of a list or map of a type.
func plural(of string, elem reflect.Type) string {
	head, rest, more := strings.Cut(kindOf(elem), " ")
	if more {
		rest = " " + rest
	}
	return of + " of " + head + "s" + rest
}
