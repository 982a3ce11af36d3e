package run

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/kairosd/kairosd/internal/domain"
)

// LabelText formats labels as key=value terms separated by spaces. It quotes terms that contain
// spaces.
func LabelText(labels map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		term := k + "=" + labels[k]
		if strings.HasPrefix(term, `"`) || strings.ContainsFunc(term, unicode.IsSpace) {
			term = strconv.Quote(term)
		}
		out = append(out, term)
	}
	return strings.Join(out, " ")
}

// ParseLabels parses the format of LabelText. Without labels, it returns an empty map.
func ParseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		term := text
		if i := strings.IndexFunc(text, unicode.IsSpace); i > 0 {
			term = text[:i]
		}
		if quoted, err := strconv.QuotedPrefix(text); err == nil && text[0] == '"' {
			term = quoted
		}
		text = text[len(term):]
		if term[0] == '"' {
			if s, err := strconv.Unquote(term); err == nil {
				term = s
			}
		}
		key, value, ok := strings.Cut(term, "=")
		if !ok || key == "" {
			return nil, domain.Errorf(domain.CodeInvalid, "label %.64q is not key=value", term)
		}
		labels[key] = value
	}
	return labels, domain.CheckLabels(labels)
}
