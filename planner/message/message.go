// Package message holds messages for people with their arguments kept apart, so that programs can
// translate them.
package message

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Message is a text for people that programs can translate. Text is a format of package fmt and the
// key of its translations; Args are its arguments. The zero Message is empty.
//
// The JSON of a Message is its English text. [Message.Encode] keeps the parts.
type Message struct {
	Text string
	Args []any // each a string, an int64, a [time.Time], a [time.Duration], or a Message
}

const (
	messageArgs  = 12   // arguments of one message
	messageBytes = 1000 // of one argument
	messageDepth = 4    // messages within each other
)

// verb is a verb of a format, such as "%[2]-8.3q".
type verb struct {
	text   string
	index  string // digits between brackets
	flags  string // the text between the brackets and the letter
	letter byte   // '%' for "%%"
}

// nextVerb finds the first verb of a format. It returns the text before and after it. It does not
// use a regular expression, because every step of a run makes a message, and one took 2 % of the
// CPU time.
func nextVerb(format string) (before string, v verb, after string, ok bool) {
	for start := 0; start < len(format); start++ {
		n := strings.IndexByte(format[start:], '%')
		if n < 0 {
			break
		}
		start += n
		at := start + 1
		span := func(set string) string {
			from := at
			for at < len(format) && strings.IndexByte(set, format[at]) >= 0 {
				at++
			}
			return format[from:at]
		}
		v = verb{}
		if at < len(format) && format[at] == '[' {
			at++
			if v.index = span(digits); v.index == "" || at == len(format) || format[at] != ']' {
				continue
			}
			at++
		}
		from := at
		span("-+# 0")
		span(digits)
		if at+1 < len(format) && format[at] == '.' && strings.IndexByte(digits, format[at+1]) >= 0 {
			at++
			span(digits)
		}
		if at == len(format) {
			continue
		}
		v.flags, v.letter = format[from:at], format[at]
		if lower := v.letter | 0x20; v.letter != '%' && (lower < 'a' || lower > 'z') {
			continue
		}
		v.text = format[start : at+1]
		return format[:start], v, format[at+1:], true
	}
	return format, verb{}, "", false
}

const digits = "0123456789"

// Localizable is an error or value that has a message. If it is an argument of a message, it is
// translated too.
type Localizable interface{ Localize() Message }

// New returns a message. Arguments that are neither numbers, times, nor messages become strings.
// Long arguments are cut.
func New(format string, args ...any) Message {
	m := Message{Text: format}
	switch len(args) {
	case 0:
		return m
	case 1:
		if inner, ok := messageArg(args[0], "").(Message); ok && format == "%s" {
			return inner
		}
	}
	verbs := make([]string, len(args))
	next := 0
	for _, v, rest, ok := nextVerb(format); ok; _, v, rest, ok = nextVerb(rest) {
		if v.letter == '%' {
			continue
		}
		if n, err := strconv.Atoi(v.index); v.index != "" && err == nil {
			next = n - 1
		}
		if next >= 0 && next < len(verbs) {
			verbs[next] = "%" + v.flags + string(v.letter)
		}
		next++
	}
	m.Args = make([]any, min(len(args), messageArgs))
	for i := range m.Args {
		m.Args[i] = messageArg(args[i], verbs[i])
	}
	return m
}

// Verbatim returns a message that is never translated, such as the output of a tool, a model, or a
// person.
func Verbatim(text string) Message {
	if text == "" {
		return Message{}
	}
	return Message{Text: "%s", Args: []any{clipped(text)}}
}

func messageArg(arg any, verb string) any {
	switch a := arg.(type) {
	case nil:
		return fmt.Sprint(a)
	case time.Time, time.Duration:
		return a
	case Message:
		if a.depth() >= messageDepth {
			return clipped(a.String())
		}
		return a
	case Localizable:
		return messageArg(a.Localize(), verb)
	case error:
		return clipped(a.Error())
	case fmt.Stringer:
		return clipped(a.String())
	}
	switch v := reflect.ValueOf(arg); v.Kind() {
	case reflect.String:
		if strings.Contains(verb, ".") { // "%.64q" cuts it
			return fmt.Sprintf(verb[:len(verb)-1]+"s", v.String())
		}
		return clipped(v.String())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int()
	}
	return clipped(fmt.Sprintf(cmp.Or(verb, "%v"), arg)) // a float, for example: "%.2f" is 1.50
}

func (m Message) depth() int {
	deepest := 0
	for _, a := range m.Args {
		if inner, ok := a.(Message); ok {
			deepest = max(deepest, inner.depth())
		}
	}
	return deepest + 1
}

// clipped limits the length of an argument.
func clipped(s string) string {
	if len(s) > messageBytes {
		s = s[:messageBytes] + "…"
	}
	return strings.ToValidUTF8(s, "")
}

// Map returns m with f applied to every text among its arguments, those of inner messages
// included.
func (m Message) Map(f func(string) string) Message {
	m.Args = slices.Clone(m.Args)
	for i, arg := range m.Args {
		switch arg := arg.(type) {
		case string:
			m.Args[i] = f(arg)
		case Message:
			m.Args[i] = arg.Map(f)
		}
	}
	return m
}

// IsZero reports whether the message is empty.
func (m Message) IsZero() bool { return m.Text == "" }

// String returns the message in English.
func (m Message) String() string { return m.Render(m.Text, nil) }

// Render formats a text with the arguments of the message. The text is the message's own or a
// translation of it. show converts each argument; if it is nil, arguments are in English.
func (m Message) Render(text string, show func(verb byte, arg any) string) string {
	if text == "%s" && show == nil && len(m.Args) == 1 {
		return plainArg('s', m.Args[0])
	}
	var out strings.Builder
	next := 0
	before, v, rest, ok := nextVerb(text)
	for ; ok; before, v, rest, ok = nextVerb(rest) {
		out.WriteString(before)
		if v.letter == '%' {
			out.WriteByte('%')
			continue
		}
		if n, err := strconv.Atoi(v.index); v.index != "" && err == nil {
			next = n - 1
		}
		next++
		switch {
		case next < 1 || next > len(m.Args):
			out.WriteString(v.text)
		case show != nil:
			out.WriteString(show(v.letter, m.Args[next-1]))
		default:
			out.WriteString(plainArg(v.letter, m.Args[next-1]))
		}
	}
	out.WriteString(before)
	return out.String()
}

// plainArg returns an argument in English.
func plainArg(verb byte, arg any) string {
	switch a := arg.(type) {
	case string:
		if verb == 'q' {
			return strconv.Quote(a)
		}
		return a
	case time.Time:
		return a.Format(time.RFC3339)
	}
	return fmt.Sprint(arg)
}

// MarshalText returns the English text.
func (m Message) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads a text as a message without translations.
func (m *Message) UnmarshalText(text []byte) error {
	*m = Verbatim(string(text))
	return nil
}

// storedArg is an argument that JSON has no type for.
type storedArg struct {
	Time     *time.Time     `json:"t,omitempty"`
	Duration *time.Duration `json:"d,omitempty"`
}

// Encode returns the message as JSON with its parts: an array of the text and the arguments. The
// result is empty for a text that is never translated, because the English text is stored next to
// it.
func (m Message) Encode() string {
	if m.IsZero() || m.Text == "%s" {
		return ""
	}
	raw, err := json.Marshal(m.parts())
	if err != nil {
		return "" // the English text is stored next to it
	}
	return string(raw)
}

func (m Message) parts() []any {
	out := []any{m.Text}
	for _, arg := range m.Args {
		switch a := arg.(type) {
		case time.Time:
			out = append(out, storedArg{Time: &a})
		case time.Duration:
			out = append(out, storedArg{Duration: &a})
		case Message:
			out = append(out, a.parts())
		default:
			out = append(out, a)
		}
	}
	return out
}

// Decode reads the result of Encode and the English text stored next to it. It returns the English
// text if stored is empty or cannot be read.
func Decode(stored, english string) Message {
	if stored != "" {
		if m, err := decodeMessage([]byte(stored), 0); err == nil {
			return m
		}
	}
	return Verbatim(english)
}

var errMessage = errors.New("not a message")

func decodeMessage(raw []byte, depth int) (m Message, err error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return m, err
	}
	if len(parts) == 0 || len(parts) > messageArgs+1 || depth > messageDepth {
		return m, errMessage
	}
	if err := json.Unmarshal(parts[0], &m.Text); err != nil {
		return m, err
	}
	for _, part := range parts[1:] {
		var arg any
		switch part[0] {
		case '"':
			var s string
			err = json.Unmarshal(part, &s)
			arg = s
		case '[':
			arg, err = decodeMessage(part, depth+1)
		case '{':
			var s storedArg
			err = json.Unmarshal(part, &s)
			switch {
			case s.Time != nil:
				arg = *s.Time
			case s.Duration != nil:
				arg = *s.Duration
			default:
				err = errMessage
			}
		default:
			var n int64
			err = json.Unmarshal(part, &n)
			arg = n
		}
		if err != nil {
			return Message{}, err
		}
		m.Args = append(m.Args, arg)
	}
	return m, nil
}
