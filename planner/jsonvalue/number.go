package jsonvalue

import (
	"strconv"
	"strings"
)

// Decimal is the exact value of a number: 0.Digits × 10^Exp. Digits has no leading or trailing
// zeros; zero has no digits.
type Decimal struct {
	Negative bool
	Digits   string
	Exp      int
}

// maxExponent limits the numbers that are written as plain digits. Numbers with a larger exponent
// keep their original text.
const maxExponent = 1000

// validNumber reports whether s is a number as RFC 8259 defines it.
func validNumber(s string) bool {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	switch {
	case i < len(s) && s[i] == '0':
		i++
	case i < len(s) && '1' <= s[i] && s[i] <= '9':
		for i < len(s) && isDigit(s[i]) {
			i++
		}
	default:
		return false
	}
	if i < len(s) && s[i] == '.' {
		start := i + 1
		for i = start; i < len(s) && isDigit(s[i]); i++ {
		}
		if i == start {
			return false
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		start := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		if i == start {
			return false
		}
	}
	return i == len(s) && len(s) > 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// ParseDecimal reads a JSON number exactly. ok is false for any other text and for an exponent that
// does not fit an int.
func ParseDecimal(s string) (d Decimal, ok bool) {
	if !validNumber(s) {
		return Decimal{}, false
	}
	d.Negative = s[0] == '-'
	s = strings.TrimPrefix(s, "-")
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(strings.TrimPrefix(s[i+1:], "+"))
		if err != nil || e > 1<<30 || e < -(1<<30) {
			return Decimal{}, false
		}
		d.Exp = e
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	d.Exp += len(whole)
	digits := whole + fraction
	trimmed := strings.TrimLeft(digits, "0")
	d.Exp -= len(digits) - len(trimmed)
	d.Digits = strings.TrimRight(trimmed, "0")
	if d.Digits == "" {
		return Decimal{}, true // zero has no sign and no exponent
	}
	return d, true
}

// PlainNumber returns the shortest plain decimal text of a number. Integers have no exponent, 1.50
// becomes 1.5, and -0 becomes 0.
func PlainNumber(s string) string {
	d, ok := ParseDecimal(s)
	if !ok || d.Exp > maxExponent || d.Exp < -maxExponent {
		return s
	}
	if d.Digits == "" {
		return "0"
	}
	var b strings.Builder
	if d.Negative {
		b.WriteByte('-')
	}
	switch {
	case d.Exp <= 0:
		b.WriteString("0.")
		b.WriteString(strings.Repeat("0", -d.Exp))
		b.WriteString(d.Digits)
	case d.Exp >= len(d.Digits):
		b.WriteString(d.Digits)
		b.WriteString(strings.Repeat("0", d.Exp-len(d.Digits)))
	default:
		b.WriteString(d.Digits[:d.Exp])
		b.WriteByte('.')
		b.WriteString(d.Digits[d.Exp:])
	}
	return b.String()
}
