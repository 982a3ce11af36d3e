package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// fingerprintRead is the number of bytes of a text that count. fingerprintQuote is the maximum
	// length of a quoted value, because an apostrophe may not be a quote.
	fingerprintRead  = 1000
	fingerprintQuote = 300
	// FingerprintLength is the length of a fingerprint.
	FingerprintLength = 12
)

// FingerprintOf returns the fingerprint of a message: [FingerprintLength] hexadecimal digits. Messages
// that differ only in numbers, ids, times, and quoted values have the same one, so that an outage
// that fails 400 runs is one failure group. The English text of a message with arguments does not count:
// a later version of kairosd may word it differently, and the error code distinguishes messages.
func FingerprintOf(m Message) string {
	h := sha256.New()
	for _, arg := range m.Args {
		fmt.Fprintf(h, "%s\x00", argPattern(arg))
	}
	return hex.EncodeToString(h.Sum(nil))[:FingerprintLength]
}

// argPattern returns the part of an argument that counts for a fingerprint.
func argPattern(arg any) string {
	switch a := arg.(type) {
	case string:
		return Pattern(a)
	case Message:
		return FingerprintOf(a)
	}
	return "#" // a number or a time
}

// Fingerprint returns the fingerprint of the error without its code.
func (e *RunError) Fingerprint() string { return FingerprintOf(e.Localize()) }

// ValidFingerprint reports whether s has the form of a fingerprint.
func ValidFingerprint(s string) bool {
	return len(s) == FingerprintLength && strings.Trim(s, "0123456789abcdef") == ""
}

// Pattern returns a message with # in place of words with a digit (numbers, IDs, times, addresses),
// and "…" in place of quoted values.
func Pattern(message string) string {
	message = strings.ToValidUTF8(message[:min(len(message), fingerprintRead)], "")
	var b strings.Builder
	last := rune(' ') // the previous character
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

// timeWords are words that occur in times next to numbers.
var timeWords = map[string]bool{"mon": true, "tue": true, "wed": true, "thu": true, "fri": true, "sat": true, "sun": true,
	"jan": true, "feb": true, "mar": true, "apr": true, "jun": true, "jul": true, "aug": true, "sep": true, "oct": true,
	"nov": true, "dec": true,
	"am": true, "pm": true, "utc": true, "gmt": true}

// put writes a placeholder. It merges placeholders that are separated only by characters which
// connect parts of a number, a time, or a list, because the number of parts does not identify a
// failure.
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

// wordLength returns the length of the word at the start of s: letters, digits, and characters that
// connect parts of IDs.
func wordLength(s string) int {
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && (r != '-' || i == 0) && (r != '@' || i == 0) {
			return len(strings.TrimRight(s[:i], "-@"))
		}
	}
	return len(strings.TrimRight(s, "-@"))
}

// quotedValue returns the length of the quoted value at the start of s, or 0 if there is none.
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
	for i, r := range s[size:min(len(s), fingerprintQuote)] {
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
