package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Named is a setting of a configuration file in a form that people may read.
type Named struct{ Key, Value string }

// shownValue is the maximum length of a shown value, in characters.
const shownValue = 300

// named lists the settings of a file, key by key. The file must be valid.
func named(src []byte) []Named {
	var doc map[string]any
	if yaml.Load(src, &doc) != nil {
		return nil
	}
	var out []Named
	flatten("", doc, &out)
	return out
}

func flatten(key string, v any, out *[]Named) {
	under := func(name string) string { return strings.TrimPrefix(key+"."+name, ".") }
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			*out = append(*out, Named{key, "{}"})
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			flatten(under(name), v[name], out)
		}
	case []any:
		if slices.ContainsFunc(v, compound) {
			for i, item := range v {
				name := fmt.Sprint(i)
				if m, ok := item.(map[string]any); ok {
					for _, id := range []string{"id", "name"} {
						if text, ok := m[id].(string); ok && text != "" {
							name = text
							break
						}
					}
				}
				flatten(under(name), item, out)
			}
			return
		}
		texts := make([]string, len(v))
		for i, item := range v {
			texts[i] = fmt.Sprint(item)
		}
		*out = append(*out, Named{key, shown(key, strings.Join(texts, ", "))})
	default:
		*out = append(*out, Named{key, shown(key, fmt.Sprint(v))})
	}
}

func compound(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// Masked replaces a value that is never shown.
const Masked = "••••"

// shown returns a value without possible secrets. Although no key of the file is meant for secrets,
// arguments of commands and addresses of receivers may contain one.
func shown(key, value string) string {
	parts := strings.Split(key, ".")
	last := parts[len(parts)-1]
	switch {
	case value == "":
		return `""`
	case strings.HasPrefix(key, "mcp.servers.") && len(parts) > 4 && parts[3] == "env":
		return Masked
	case strings.HasPrefix(key, "telemetry.") && strings.Contains(key, "headers") && !strings.HasSuffix(last, "_env"):
		return Masked
	case strings.HasPrefix(key, "notifications.channels.") && last == "url":
		u, err := url.Parse(value)
		if err != nil || u.Host == "" {
			return Masked
		}
		return u.Scheme + "://" + u.Host + "/" + Masked
	case strings.Contains(value, "://"):
		if u, err := url.Parse(value); err == nil && (u.User != nil || u.RawQuery != "") {
			u.User, u.RawQuery = nil, ""
			return u.String()
		}
	}
	for _, word := range []string{"password", "secret", "token", "api_key"} {
		if last == word { // not a key of this version; an invalid file must not show its value either
			return Masked
		}
	}
	if r := []rune(value); len(r) > shownValue {
		return string(r[:shownValue]) + "…"
	}
	return value
}
