// Package jsonvalue holds the JSON values of plans: nil, bool, string, json.Number, []any, and
// map[string]any. It normalizes, encodes, decodes, and compares them.
package jsonvalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth limits the nesting of values. Deeper values are rejected before they can exhaust a
// stack.
const MaxDepth = 1000

// ErrTooDeep reports a value that is nested deeper than [MaxDepth].
var ErrTooDeep = fmt.Errorf("nested deeper than %d levels", MaxDepth)

// Normalize converts a Go value to a JSON value of nil, bool, string, json.Number, []any, and
// map[string]any. The result equals the value after encoding and decoding it. Normalize fails for
// values without a JSON form, such as channels, NaN, and cycles. It returns JSON values as they
// are, without a copy.
func Normalize(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool:
		return v, nil
	case string:
		return ValidString(v), nil
	case json.Number:
		if !validNumber(string(v)) {
			return nil, fmt.Errorf("%q is not a JSON number", string(v))
		}
		return v, nil
	case int:
		return json.Number(strconv.Itoa(v)), nil
	case int64:
		return json.Number(strconv.FormatInt(v, 10)), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is not a JSON number", v)
		}
		return json.Number(formatFloat(v)), nil
	case []any, map[string]any:
		if isJSON(v, 0) {
			return v, nil
		}
	}
	// Encode and decode anything else, as storing it would.
	b, err := marshal(v)
	if err != nil {
		return nil, err
	}
	return Decode(b)
}

// marshal is json.Marshal without HTML escaping. It rejects cycles.
func marshal(v any) (b []byte, err error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		if e, ok := errors.AsType[*json.UnsupportedTypeError](err); ok {
			return nil, fmt.Errorf("a value of Go type %s has no JSON form", e.Type)
		}
		if e, ok := errors.AsType[*json.UnsupportedValueError](err); ok {
			return nil, fmt.Errorf("the value %s has no JSON form", e.Str)
		}
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// isJSON reports whether v consists of JSON values only, so that no conversion is needed. It
// returns false for a cycle, once the depth is exhausted.
func isJSON(v any, depth int) bool {
	if depth > MaxDepth {
		return false
	}
	switch v := v.(type) {
	case nil, bool:
		return true
	case string:
		return utf8.ValidString(v)
	case json.Number:
		return validNumber(string(v))
	case []any:
		if v == nil {
			return false
		}
		for _, e := range v {
			if !isJSON(e, depth+1) {
				return false
			}
		}
		return true
	case map[string]any:
		if v == nil {
			return false
		}
		for k, e := range v {
			if !utf8.ValidString(k) || !isJSON(e, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// ValidString replaces invalid UTF-8.
func ValidString(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// formatFloat writes a float in the shortest form that reads back equal. It avoids an exponent
// where plain digits are reasonable.
func formatFloat(f float64) string {
	if abs := math.Abs(f); abs != 0 && (abs < 1e-9 || abs >= 1e21) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// MaxBytes limits the JSON text of one value of a run, in bytes. A value may contain one part many
// times, so that its text is far larger than the value in memory.
const MaxBytes = 32 << 20

// ErrTooLarge reports that the JSON text of a value exceeds a limit.
var ErrTooLarge = errors.New("the value is too large")

// Encode returns the canonical compact JSON of a JSON value: sorted keys, numbers with their exact
// text, no HTML escaping.
func Encode(v any) ([]byte, error) {
	return appendJSON(nil, v, 0, math.MaxInt)
}

// EncodeWithin is Encode with a limit in bytes. It returns [ErrTooLarge] as soon as the text
// exceeds the limit.
func EncodeWithin(v any, most int) ([]byte, error) {
	b, err := appendJSON(nil, v, 0, most)
	if err == nil && len(b) > most {
		return nil, ErrTooLarge
	}
	return b, err
}

func appendJSON(b []byte, v any, depth, most int) ([]byte, error) {
	switch {
	case depth > MaxDepth:
		return nil, ErrTooDeep
	case len(b) > most:
		return nil, ErrTooLarge
	}
	var err error
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return AppendString(b, v), nil
	case json.Number:
		if !validNumber(string(v)) {
			return nil, fmt.Errorf("%q is not a JSON number", string(v))
		}
		return append(b, v...), nil
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendJSON(b, e, depth+1, most); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case map[string]any:
		b = append(b, '{')
		for i, k := range sortedKeys(v) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(AppendString(b, k), ':')
			if b, err = appendJSON(b, v[k], depth+1, most); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	n, err := Normalize(v)
	if err != nil {
		return nil, err
	}
	switch n.(type) {
	case nil, bool, string, json.Number, []any, map[string]any:
		return appendJSON(b, n, depth+1, most)
	}
	return nil, fmt.Errorf("a value of Go type %s has no JSON form", reflect.TypeOf(v))
}

const hexDigits = "0123456789abcdef"

// AppendString appends a JSON string. It escapes only what RFC 8259 requires, and U+2028 and
// U+2029, which break JavaScript.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(b, s[start:i]...)
			b = append(b, "\uFFFD"...)
			i++
			start = i
			continue
		}
		if r == '\u2028' || r == '\u2029' {
			b = append(b, s[start:i]...)
			b = append(b, '\\', 'u', '2', '0', '2', hexDigits[r&15])
			i += n
			start = i
			continue
		}
		i += n
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// Decode reads one JSON text. Numbers keep their exact text.
func Decode(b []byte) (any, error) {
	if d := jsonDepth(b); d > MaxDepth {
		return nil, ErrTooDeep
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("empty JSON text")
		}
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("data after the JSON value")
	}
	return v, nil
}

// jsonDepth counts the deepest nesting of a JSON text without parsing it.
func jsonDepth(b []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}

// Text returns the text form of a value: strings as they are, true, false, and null, numbers in
// shortest plain decimal form, and lists and objects as canonical JSON.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return PlainNumber(string(v))
	}
	b, err := Encode(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// TextWithin is Text for a value that may contain one part many times. It returns false if the text
// is longer than MaxBytes.
func TextWithin(v any) (string, bool) {
	switch v.(type) {
	case []any, map[string]any:
		b, err := EncodeWithin(v, MaxBytes)
		return string(b), err == nil
	}
	text := Text(v)
	return text, len(text) <= MaxBytes
}

// EqualText is the equality that conditions use: both texts are the same, or both are numbers of
// equal value.
func EqualText(a, b string) bool {
	if a == b {
		return true
	}
	x, ok := ParseDecimal(a)
	if !ok {
		return false
	}
	y, ok := ParseDecimal(b)
	return ok && x == y
}

// sortedKeys is slices.Sorted(maps.Keys(m)) with one allocation, because every output is encoded.
func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
