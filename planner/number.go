package planner

import (
	"strconv"
	"strings"
)

// decimal is a number by exact value: 0.digits × 10^exp, digits without
// leading or trailing zeros; zero has no digits.
type decimal struct {
	negative bool
	digits   string
	exp      int
}

// maxExponent bounds what is written out in plain digits; numbers beyond it
// keep the text they came with.
const maxExponent = 1000

// validNumber reports whether s is a number by RFC 8259.
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

// parseDecimal reads a JSON number exactly; ok is false for any other text and
// for exponents that do not fit an int.
func parseDecimal(s string) (d decimal, ok bool) {
	if !validNumber(s) {
		return decimal{}, false
	}
	d.negative = s[0] == '-'
	s = strings.TrimPrefix(s, "-")
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(strings.TrimPrefix(s[i+1:], "+"))
		if err != nil || e > 1<<30 || e < -(1<<30) {
			return decimal{}, false
		}
		d.exp = e
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	d.exp += len(whole)
	digits := whole + fraction
	trimmed := strings.TrimLeft(digits, "0")
	d.exp -= len(digits) - len(trimmed)
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		return decimal{}, true // zero has no sign and no exponent
	}
	return d, true
}

// plainNumber is the shortest plain decimal text of a number: integers never
// have an exponent, 1.50 is 1.5, -0 is 0.
func plainNumber(s string) string {
	d, ok := parseDecimal(s)
	if !ok || d.exp > maxExponent || d.exp < -maxExponent {
		return s
	}
	if d.digits == "" {
		return "0"
	}
	var b strings.Builder
	if d.negative {
		b.WriteByte('-')
	}
	switch {
	case d.exp <= 0:
		b.WriteString("0.")
		b.WriteString(strings.Repeat("0", -d.exp))
		b.WriteString(d.digits)
	case d.exp >= len(d.digits):
		b.WriteString(d.digits)
		b.WriteString(strings.Repeat("0", d.exp-len(d.digits)))
	default:
		b.WriteString(d.digits[:d.exp])
		b.WriteByte('.')
		b.WriteString(d.digits[d.exp:])
	}
	return b.String()
}
