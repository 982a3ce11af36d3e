package source

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kairosd/kairosd/planner/message"
)

// CheckText rejects characters that no document may contain. It returns the text without a UTF-8
// byte order mark.
func CheckText(src []byte, r Reporter) ([]byte, bool) {
	if len(src) > MaxDocument {
		r.Error(nil, "", "document.too_large", message.New("split the plan, or move data into its input"),
			"the document has %d bytes; at most %d are allowed", len(src), MaxDocument)
		return nil, false
	}
	if len(src) >= 2 && (src[0] == 0xFE && src[1] == 0xFF || src[0] == 0xFF && src[1] == 0xFE) {
		r.Error(nil, "", "document.encoding", message.New("save it as UTF-8"), "the document is UTF-16")
		return nil, false
	}
	src = []byte(strings.TrimPrefix(string(src), "\uFEFF"))
	line, column := 1, 1
	for i := 0; i < len(src); {
		c, n := utf8.DecodeRune(src[i:])
		switch {
		case c == utf8.RuneError && n == 1:
			r.Error(&Tree{Line: line, Column: column}, "", "document.encoding", message.New("save it as UTF-8"), "invalid UTF-8")
			return nil, false
		case controlCharacter(c):
			r.Error(&Tree{Line: line, Column: column}, "", "document.control_character", message.New("remove it"),
				"invalid control character U+%s", fmt.Sprintf("%04X", c))
			return nil, false
		case c == '\n':
			line, column = line+1, 0
		}
		column++
		i += n
	}
	return src, true
}

// controlCharacter reports control characters: C0, DEL, and C1, except tabs and line ends.
func controlCharacter(c rune) bool {
	return c < 0x20 && c != '\t' && c != '\n' && c != '\r' || c == 0x7F || 0x80 <= c && c < 0xA0 && c != 0x85
}
