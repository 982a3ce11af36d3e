package kit

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// firstWord matches a leading word that may be capitalized, unlike a key, path, or name.
var firstWord = regexp.MustCompile(`^\p{Ll}+[ ,]`)

// Word returns a status. A final status no longer changes.
func Word(key, icon, w string, final bool) Status {
	return Status{Key: key, Icon: icon, Word: w, Final: final}
}

// Duration formats an elapsed time, such as 100 ms, 11.2 s, 3m 41s, 2h 11m, or 4d 3h.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "0 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d.Round(100*time.Millisecond) < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute: // rounds up to a minute
		return "1m 0s"
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd %dh", int(d.Hours())/24, int(d.Hours())%24)
}

// Escape replaces control and formatting characters, which could hide or reorder text, with their
// code points.
func Escape(s string) string {
	if !strings.ContainsFunc(s, IsControl) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if IsControl(c) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

// IsControl reports whether c is a control or formatting character other than tab and line breaks.
func IsControl(c rune) bool {
	return c != '\n' && c != '\t' && c != '\r' && (unicode.Is(unicode.Cc, c) || unicode.Is(unicode.Cf, c))
}

// Capitalize capitalizes the first word of an error message, which starts in lower case by convention.
func Capitalize(text string) string {
	if firstWord.MatchString(text) {
		_, n := utf8.DecodeRuneInString(text)
		return strings.ToUpper(text[:n]) + text[n:]
	}
	return text
}

// Plural formats a count with its English noun.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Truncate shortens s to at most n bytes, without splitting a rune, and appends "…".
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// ApproxDuration formats a duration in its largest unit.
func ApproxDuration(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours())/24)
}

// NewID returns a random identifier of 16 hexadecimal digits.
func NewID() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}

// Initials returns the first letters of the first two words of a name, or the first two letters of
// its only word.
func Initials(name string) string {
	words := strings.FieldsFunc(name, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsNumber(c) })
	switch len(words) {
	case 0:
		return "?"
	case 1:
		letters := []rune(words[0])
		return strings.ToUpper(string(letters[:min(2, len(letters))]))
	}
	return strings.ToUpper(string([]rune(words[0])[:1]) + string([]rune(words[1])[:1]))
}

// EscapeAll applies [Escape] to each element.
func EscapeAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Escape(s)
	}
	return out
}

// CircuitOf names a circuit of a tool.
func CircuitOf(tool, part string) string {
	if part == "" {
		return Escape(tool)
	}
	return Escape(part) + " (" + Escape(tool) + ")"
}

// CircuitList is the maximum number of circuits per tool in a list.
const CircuitList = 3

// SafeName replaces all characters except ASCII letters, digits, dashes, and underscores with
// dashes, for use in a file name or an id. It keeps at most 60 bytes of s.
func SafeName(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '-'
	}, Truncate(s, 60))
}

// StepName returns the name of a step, with its iteration number if it is not the first.
func StepName(node string, visit int) string {
	if visit > 1 {
		return fmt.Sprintf("%s#%d", node, visit)
	}
	return node
}

// ItemName names a step with its iteration and its item of a foreach; -1: none.
func ItemName(node string, visit, item int) string {
	if item < 0 {
		return StepName(node, visit)
	}
	return fmt.Sprintf("%s[%d]", StepName(node, visit), item)
}

// Percent formats a position or size in a drawing.
func Percent(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) + "%" }

// tableText is the maximum length of a text in a table, in runes. The detail page shows all of it.
const tableText = 280

// Shorten cuts a text to the length that tables show.
func Shorten(s string) string {
	if r := []rune(s); len(r) > tableText {
		return string(r[:tableText]) + "…"
	}
	return s
}
