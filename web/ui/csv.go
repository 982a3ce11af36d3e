package ui

import "strings"

// CSVCell escapes text that a spreadsheet would evaluate as a formula.
func CSVCell(s string) string {
	if trimmed := strings.TrimLeft(s, " \t\r\n"); trimmed != "" && strings.ContainsRune("=+-@|%", rune(trimmed[0])) ||
		strings.HasPrefix(s, "\t") ||
		strings.HasPrefix(s, "\r") {
		return "'" + s
	}
	return s
}
