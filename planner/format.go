package planner

import (
	"bytes"
	"strings"
)

// FormatOf returns the format for a file name, or else for the content: a document that begins with
// { or [ is JSON.
func FormatOf(name string, src []byte) Format {
	switch lower := strings.ToLower(name); {
	case strings.HasSuffix(lower, ".json"):
		return FormatJSON
	case strings.HasSuffix(lower, ".yaml"), strings.HasSuffix(lower, ".yml"):
		return FormatYAML
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(src, []byte("\uFEFF")), " \t\r\n")
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') && (text[0] == '[' || looksLikeJSON(text)) {
		return FormatJSON
	}
	return FormatYAML
}

// looksLikeJSON distinguishes {"a": 1} from YAML's {a: 1}.
func looksLikeJSON(text []byte) bool {
	rest := bytes.TrimLeft(text[1:], " \t\r\n")
	return len(rest) == 0 || rest[0] == '"' || rest[0] == '}'
}

// String returns the name of the format.
func (f Format) String() string {
	if f == FormatAuto {
		return "auto"
	}
	return string(f)
}
