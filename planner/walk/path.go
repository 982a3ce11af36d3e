package walk

import (
	"fmt"
	"strconv"
	"strings"
)

// path leads into a value: keys of objects and indexes of lists, in the form a.b.0.c. A key with
// dots is quoted: ."quoted key".
type path []string

// parsePath parses a path at the beginning of text and returns the rest of the text. A path begins
// with a dot. It ends at the first character that cannot be part of a path. An empty text is an
// empty path.
func parsePath(text string) (p path, rest string, err error) {
	rest = text
	for strings.HasPrefix(rest, ".") {
		// ".contains:" ends the path of a plain condition.
		if strings.HasPrefix(rest, ".contains:") {
			return p, rest, nil
		}
		rest = rest[1:]
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, rest, fmt.Errorf("unclosed quote in path")
			}
			key, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, rest, fmt.Errorf("malformed quoted key %s", quoted)
			}
			p = append(p, key)
			rest = rest[len(quoted):]
			continue
		}
		n := strings.IndexAny(rest, ". \t=!?}\"")
		if n < 0 {
			n = len(rest)
		}
		if n == 0 {
			return nil, rest, fmt.Errorf("empty path segment")
		}
		p = append(p, rest[:n])
		rest = rest[n:]
	}
	return p, rest, nil
}

// lookup follows the path. found is false if a key or an index does not exist, or if a value on the
// path is not a container.
func (p path) lookup(v any) (_ any, found bool) {
	for _, key := range p {
		switch c := v.(type) {
		case map[string]any:
			if v, found = c[key]; !found {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(c) || key != strconv.Itoa(i) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// end describes where a path that is not found in a value ends. The value has a name.
func (p path) end(name string, v any) string {
	for _, key := range p {
		inner, ok := path{key}.lookup(v)
		switch kind := jsonType(v); {
		case ok:
			v, name = inner, name+"."+key
		case kind == "object":
			return fmt.Sprintf("%s has no field %q", name, key)
		case kind == "array":
			return fmt.Sprintf("%s is a list of %d and has no item %q", name, len(v.([]any)), key)
		default:
			return fmt.Sprintf("%s is %s and has no fields", name, aKind(kind))
		}
	}
	return name + " exists"
}
