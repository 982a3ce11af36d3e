package assemble

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf16"
	"unicode/utf8"
)

// Masks contains the secret values to hide. Values are added and never removed while the process
// runs, because stored data and active calls still contain former secrets. The zero value masks
// nothing.
type Masks struct {
	mu  sync.Mutex
	now atomic.Pointer[[]masked] // longest first
}

// masked is one form of a secret value, and the text that replaces it.
type masked struct {
	value []byte
	form  form
	// before and after are true if the characters next to a base64 value also contain bits of it.
	before, after bool
	rule          string
	shown         []byte
}

// form is the encoding of a value.
type form int

const (
	formText   form = iota // the value itself; each character may be escaped
	formHex                // two hexadecimal digits per byte, in either case
	formBase64             // only the characters that depend on the value alone; line breaks may be between them
)

// dots replace a secret value.
const dots = "••••"

// escaping contains the characters that begin escapes and line breaks.
const escaping = "%\\&+ \t\r\n"

// leastBase64 is the minimum number of base64 characters that distinguish a value from chance.
const leastBase64 = 5

// ruleName matches names that a mask may show: they appear in JSON, in addresses, and in logs.
var ruleName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// show sets the replacement of each value: dots and the name of the rule. It leaves out a name that
// contains a secret, because masking the masked text would never end.
func show(list []masked) {
	for i, m := range list {
		list[i].shown = []byte(dots)
		named := []byte(dots + " by rule " + m.rule)
		if ruleName.MatchString(m.rule) && !slices.ContainsFunc(list, func(o masked) bool { return bytes.Contains(named, o.value) }) {
			list[i].shown = named
		}
	}
}

// add masks the value of a rule in all its encodings: the value itself; escaped as in JSON, URLs,
// and HTML; hexadecimal; and base64 at each of the three possible offsets, as in HTTP Basic
// authentication.
func (m *Masks) add(rule, value string) {
	forms := []masked{{value: []byte(value), rule: rule}, {value: []byte(hex.EncodeToString([]byte(value))), form: formHex, rule: rule}}
	for shift := range 3 {
		whole := append(make([]byte, shift), value...)
		from, to := (shift*8+5)/6, len(whole)*8/6
		if to-from < leastBase64 {
			continue
		}
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(
				forms,
				masked{
					value:  []byte(encoding.EncodeToString(whole)[from:to]),
					form:   formBase64,
					before: shift > 0,
					after:  len(whole)*8%6 > 0,
					rule:   rule,
				},
			)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := append(slices.Clone(m.list()), forms...)
	// The longest is masked first, because a shorter one may be part of it.
	slices.SortStableFunc(list, func(a, b masked) int {
		return cmp.Or(cmp.Compare(len(b.value), len(a.value)), bytes.Compare(a.value, b.value), cmp.Compare(a.form, b.form))
	})
	list = slices.CompactFunc(list, func(a, b masked) bool { return bytes.Equal(a.value, b.value) && a.form == b.form })
	show(list)
	m.now.Store(&list)
}

func (m *Masks) list() []masked {
	if list := m.now.Load(); list != nil {
		return *list
	}
	return nil
}

// Mask replaces every secret value with dots and the name of its rule.
func (m *Masks) Mask(text []byte) []byte {
	for _, secret := range m.list() {
		text = secret.mask(text)
	}
	return text
}

// mask replaces one form of a value.
func (m masked) mask(text []byte) []byte {
	var out []byte
	done := 0
	for at := 0; at < len(text); {
		at = m.next(text, at)
		if at < 0 {
			break
		}
		end := m.match(text, at)
		if end < 0 {
			at++
			continue
		}
		begin := at
		if m.before && begin > done && isBase64(text[begin-1]) {
			begin--
		}
		if m.after && end < len(text) && isBase64(text[end]) {
			end++
		}
		out = append(append(out, text[done:begin]...), m.shown...)
		done, at = end, end
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

func isBase64(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("+/-_", c) >= 0
}

// next returns the first position at which the value may begin, or -1.
func (m masked) next(text []byte, from int) int {
	first := string(m.value[0])
	if m.form == formHex {
		first += strings.ToUpper(first)
	}
	escapes := "%\\&"
	if m.form == formText && m.value[0] == ' ' {
		escapes += "+"
	}
	if i := bytes.IndexAny(text[from:], first+escapes); i >= 0 && m.value[0] < utf8.RuneSelf {
		return from + i
	} else if m.value[0] < utf8.RuneSelf {
		return -1
	}
	for i := from; i < len(text); i++ {
		if text[i] == m.value[0] || strings.IndexByte(escapes, text[i]) >= 0 {
			return i
		}
	}
	return -1
}

// match returns the end of the value if it begins at a position, or -1.
func (m masked) match(text []byte, at int) int {
	if at+1 < len(text) && len(m.value) > 1 && strings.IndexByte(escaping, text[at]) < 0 {
		// The second character rules out nearly all positions.
		if c := text[at+1]; c != m.value[1] && lower(c) != m.value[1] && strings.IndexByte(escaping, c) < 0 {
			return -1
		}
	}
	steps := 4*len(m.value) + 64 // limits the search, because an escape can be read in several ways
	var rest func(at int, value []byte) int
	rest = func(at int, value []byte) int {
		if len(value) == 0 {
			return at
		}
		if steps--; steps < 0 || at >= len(text) {
			return -1
		}
		if c := text[at]; c == value[0] || m.form == formHex && lower(c) == value[0] {
			if end := rest(at+1, value[1:]); end >= 0 {
				return end
			}
		}
		if m.form == formHex {
			return -1
		}
		if value[0] == '\\' && bytes.HasPrefix(text[at:], []byte(`\\\\`)) { // JSON in JSON
			if end := rest(at+4, value[1:]); end >= 0 {
				return end
			}
		}
		if m.form == formBase64 && len(value) < len(m.value) {
			if n := lineBreak(text[at:]); n > 0 {
				return rest(at+n, value)
			}
		}
		decoded, n := unescape(text[at:])
		if n == 0 || !bytes.HasPrefix(value, decoded) {
			return -1
		}
		return rest(at+n, value[len(decoded):])
	}
	return rest(at, m.value)
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'F' {
		return c + 'a' - 'A'
	}
	return c
}

// lineBreak returns the length of the white space, or of the escaped line break, at the start of a
// text.
func lineBreak(text []byte) int {
	n := 0
	for n < len(text) && strings.IndexByte(" \t\r\n", text[n]) >= 0 {
		n++
	}
	if n > 0 {
		return n
	}
	for _, escaped := range []string{`\r\n`, `\n`, `%0D%0A`, `%0d%0a`, `%0A`, `%0a`} {
		if bytes.HasPrefix(text, []byte(escaped)) {
			return len(escaped)
		}
	}
	return 0
}

// entities are the named HTML entities that are decoded.
var entities = map[string]string{
	"&amp;":    "&",
	"&lt;":     "<",
	"&gt;":     ">",
	"&quot;":   `"`,
	"&apos;":   "'",
	"&plus;":   "+",
	"&sol;":    "/",
	"&equals;": "=",
	"&nbsp;":   " ",
}

// unescape decodes the escaped character at the start of a text: of a URL, of JSON (which may be
// inside JSON), or of HTML. n is 0 if there is none.
func unescape(text []byte) (decoded []byte, n int) {
	switch text[0] {
	case '+':
		return []byte(" "), 1
	case '%':
		if len(text) >= 3 {
			if b, err := hex.DecodeString(string(text[1:3])); err == nil {
				return b, 3
			}
		}
	case '&':
		end := bytes.IndexByte(text[:min(len(text), 10)], ';')
		if end < 0 {
			return nil, 0
		}
		entity := string(text[:end+1])
		if c, ok := entities[entity]; ok {
			return []byte(c), len(entity)
		}
		if c := html.UnescapeString(entity); strings.HasPrefix(entity, "&#") && c != entity {
			return []byte(c), len(entity)
		}
	case '\\':
		slashes := 1
		for slashes < len(text) && text[slashes] == '\\' {
			slashes++
		}
		if slashes == len(text) || slashes%2 == 0 && slashes < 4 && strings.IndexByte(`"/bfnrtu`, text[slashes]) < 0 {
			return []byte(`\`), min(2, slashes)
		}
		switch c := text[slashes]; c {
		case '"', '/', '\'':
			return []byte{c}, slashes + 1
		case 'b', 'f', 'n', 'r', 't':
			return []byte{"\b\f\n\r\t"[strings.IndexByte("bfnrt", c)]}, slashes + 1
		case 'u':
			r, used := utf16Escape(text[slashes-1:])
			if used > 0 {
				return utf8.AppendRune(nil, r), slashes - 1 + used
			}
		case 'x':
			if len(text) >= slashes+3 {
				if b, err := hex.DecodeString(string(text[slashes+1 : slashes+3])); err == nil {
					return b, slashes + 3
				}
			}
		}
		return []byte(`\`), min(2, slashes)
	}
	return nil, 0
}

// utf16Escape decodes \uXXXX, or a surrogate pair of two.
func utf16Escape(text []byte) (r rune, n int) {
	unit := func(text []byte) (rune, bool) {
		if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
			return 0, false
		}
		v, err := strconv.ParseUint(string(text[2:6]), 16, 16)
		return rune(v), err == nil
	}
	high, ok := unit(text)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(high) {
		if low, ok := unit(text[6:]); ok {
			return utf16.DecodeRune(high, low), 12
		}
		return 0, 0
	}
	return high, 6
}

// Logger returns a logger that masks all secrets.
func (m *Masks) Logger(l *slog.Logger) *slog.Logger { return slog.New(maskedLog{l.Handler(), m}) }

// maskedLog is a log handler that masks secrets.
type maskedLog struct {
	slog.Handler
	m *Masks
}

func (h maskedLog) Handle(ctx context.Context, r slog.Record) error {
	if len(h.m.list()) == 0 {
		return h.Handler.Handle(ctx, r)
	}
	out := slog.NewRecord(r.Time, r.Level, h.text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

func (h maskedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	masked := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		masked[i] = h.attr(a)
	}
	return maskedLog{h.Handler.WithAttrs(masked), h.m}
}

func (h maskedLog) WithGroup(name string) slog.Handler {
	return maskedLog{h.Handler.WithGroup(name), h.m}
}

func (h maskedLog) text(s string) string { return string(h.m.Mask([]byte(s))) }

func (h maskedLog) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.text(v.String()))
	case slog.KindAny:
		// Mask the text of any other value, because that text is logged.
		text := fmt.Sprint(v.Any())
		if masked := h.text(text); masked != text {
			return slog.String(a.Key, masked)
		}
	case slog.KindGroup:
		group := make([]any, 0, len(v.Group()))
		for _, g := range v.Group() {
			group = append(group, h.attr(g))
		}
		return slog.Group(a.Key, group...)
	}
	return a
}
