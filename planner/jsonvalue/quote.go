package jsonvalue

import "strconv"

// Quote quotes a text for a message. It shows at most 80 characters of the text.
func Quote(s string) string {
	runes := []rune(s)
	if len(runes) > 80 {
		return strconv.Quote(string(runes[:79]) + "…")
	}
	return strconv.Quote(s)
}
