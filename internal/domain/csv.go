package domain

import "strings"

// CSVCell keeps a spreadsheet from evaluating a text as a formula.
func CSVCell(s string) string {
	if trimmed := strings.TrimLeft(s, " \t\r\n"); trimmed != "" && strings.ContainsRune("=+-@|%", rune(trimmed[0])) ||
		strings.HasPrefix(s, "\t") || strings.HasPrefix(s, "\r") {
		return "'" + s
	}
	return s
}
