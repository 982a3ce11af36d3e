package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// alikeRead is how much of a message says what went wrong, and alikeQuote how
	// long a quoted value may be: an apostrophe is no quote.
	alikeRead  = 1000
	alikeQuote = 300
	// AlikeLength is the length of what Alike gives.
	AlikeLength = 12
)

// Alike is the same for messages that differ only in numbers, ids, times and
// quoted values: an outage that fails 400 runs is one failure, not 400. It is
// AlikeLength hexadecimal digits.
func Alike(message string) string {
	sum := sha256.Sum256([]byte(Pattern(message)))
	return hex.EncodeToString(sum[:])[:AlikeLength]
}

// ValidAlike reports whether s may be what Alike gave.
func ValidAlike(s string) bool {
	return len(s) == AlikeLength && strings.Trim(s, "0123456789abcdef") == ""
}

// Pattern is a message with # in place of whatever has a digit in it (numbers,
// ids, times, addresses), and "…" in place of quoted values.
func Pattern(message string) string {
	message = strings.ToValidUTF8(message[:min(len(message), alikeRead)], "")
	var b strings.Builder
	last := rune(' ') // what was read before
	for len(message) > 0 {
		if n := quotedValue(message, last); n > 0 {
			last, _ = utf8.DecodeLastRuneInString(message[:n])
			message = message[n:]
			put(&b, `"…"`)
			continue
		}
		n := wordLength(message)
		switch {
		case n == 0:
			r, size := utf8.DecodeRuneInString(message)
			if unicode.IsSpace(r) {
				r = ' '
			}
			if r != ' ' || last != ' ' {
				b.WriteRune(r)
			}
			last, message = r, message[size:]
			continue
		case strings.ContainsFunc(message[:n], unicode.IsDigit):
			put(&b, "#")
		case timeWords[strings.ToLower(message[:n])]:
			put(&b, "#")
		default:
			b.WriteString(message[:n])
		}
		last, _ = utf8.DecodeLastRuneInString(message[:n])
		message = message[n:]
	}
	return strings.TrimSpace(b.String())
}

// timeWords stand in times beside numbers.
var timeWords = map[string]bool{"mon": true, "tue": true, "wed": true, "thu": true, "fri": true, "sat": true, "sun": true,
	"jan": true, "feb": true, "mar": true, "apr": true, "jun": true, "jul": true, "aug": true, "sep": true, "oct": true, "nov": true, "dec": true,
	"am": true, "pm": true, "utc": true, "gmt": true}

// put writes a placeholder. One that follows another, with nothing between them
// but what joins the parts of a number, a time or a list, is taken together with
// it: how many parts there are says nothing of what went wrong.
func put(b *strings.Builder, placeholder string) {
	text := b.String()
	bare := strings.TrimRight(text, " .,:;/+-")
	if strings.HasSuffix(bare, placeholder) && len(text) > len(bare) {
		b.Reset()
		b.WriteString(bare)
		return
	}
	if cut := strings.TrimRight(text, "+-$€£"); placeholder == "#" && (cut == "" || strings.HasSuffix(cut, " ")) { // a sign
		b.Reset()
		b.WriteString(cut)
	}
	b.WriteString(placeholder)
}

// wordLength is how much of s is one word: letters, digits, and what holds ids
// together.
func wordLength(s string) int {
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && (r != '-' || i == 0) && (r != '@' || i == 0) {
			return len(strings.TrimRight(s[:i], "-@"))
		}
	}
	return len(strings.TrimRight(s, "-@"))
}

// quotedValue is how much of s is a value in quotes; 0: it begins with none.
func quotedValue(s string, before rune) int {
	open, size := utf8.DecodeRuneInString(s)
	end := open
	switch open {
	case '"', '`':
	case '\'':
		if unicode.IsLetter(before) || unicode.IsDigit(before) {
			return 0 // an apostrophe
		}
	case '“', '„':
		end = '”'
	case '‘':
		end = '’'
	case '«':
		end = '»'
	default:
		return 0
	}
	escaped := false
	for i, r := range s[size:min(len(s), alikeQuote)] {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
		case r == end || open == '„' && r == '“':
			stop := size + i + utf8.RuneLen(r)
			next, _ := utf8.DecodeRuneInString(s[stop:])
			if open == '\'' && (unicode.IsLetter(next) || unicode.IsDigit(next)) {
				continue
			}
			return stop
		}
	}
	return 0
}
