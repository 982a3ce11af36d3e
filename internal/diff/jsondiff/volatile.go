package jsondiff

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Volatile reports whether a change is only another date, ID, or duration. Two runs of the same
// plan almost always differ in these, so they explain nothing.
func (c Change) Volatile() bool {
	switch c.Op {
	case Changed:
		return volatileName(c.Path) && scalar(c.Old) && scalar(c.New) || volatileValue(c.Old) && volatileValue(c.New)
	case Added:
		return volatileName(c.Path) && volatileValue(c.New)
	}
	return volatileName(c.Path) && volatileValue(c.Old)
}

// lastWord returns the last key of a path, in lower case and without a list position.
var lastWord = regexp.MustCompile(`(?:\.|\[")([^."\[\]]+)(?:"\])?(?:\[\d+\])*$`)

// volatileWords are keys whose values differ between any two runs.
var volatileWords = []string{"date", "etag", "age", "expires", "time", "timestamp", "duration", "elapsed", "took", "latency", "nonce",
	"uuid", "traceparent", "cf-ray", "set-cookie"}

// volatileEnds are endings of such keys, after a dash, an underscore, or in camel case.
var volatileEnds = []string{"id", "at", "ms", "date", "time", "timestamp", "duration", "elapsed", "seconds", "modified"}

func volatileName(path string) bool {
	m := lastWord.FindStringSubmatch(path)
	if m == nil {
		return false
	}
	key := m[1]
	if slices.Contains(volatileWords, strings.ToLower(key)) {
		return true
	}
	words := strings.FieldsFunc(camel.ReplaceAllString(key, "$1-$2"), func(r rune) bool { return r == '-' || r == '_' })
	return len(words) > 1 && slices.Contains(volatileEnds, strings.ToLower(words[len(words)-1]))
}

var (
	camel = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	// longID matches a random ID: hexadecimal digits, a UUID, or a long word of letters and digits.
	longID = regexp.MustCompile(`^(?i:[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-z]{20,})$`)
)

// timeFormats are the formats in which services write times.
var timeFormats = []string{time.RFC3339Nano, time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC, time.DateTime}

// volatileValue reports whether a value can only be a time, an ID, or a duration.
func volatileValue(v any) bool {
	s, ok := v.(string)
	if !ok {
		return false
	}
	for _, format := range timeFormats {
		if _, err := time.Parse(format, s); err == nil {
			return true
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d != 0 {
		return true
	}
	return longID.MatchString(s) && strings.ContainsAny(s, "0123456789")
}

func scalar(v any) bool {
	switch v.(type) {
	case string, json.Number:
		return true
	}
	return false
}
