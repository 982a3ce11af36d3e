package cli

import (
	"bufio"
	"slices"
	"strings"

	"io"
	"os"
	"unicode/utf8"

	"github.com/kairosd/kairosd/internal/exit"
)

// Confirm prompts on the terminal. Any answer except yes is an error.
func (s Streams) Confirm(question string, args ...any) error {
	s.Errorf(question+" [y/N] ", args...)
	answer, _ := bufio.NewReader(s.In).ReadString('\n') // no answer means no
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return exit.Usage("not confirmed; nothing changed")
	}
	return nil
}

// screen is a file that a command writes to. A terminal gets no control characters and no
// characters that reverse text. A file or a pipe gets every byte.
func screen(f *os.File) io.Writer {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return f
	}
	return &plain{w: f}
}

// plain removes control characters, except line ends and tabs, and marks of direction. Invalid
// UTF-8 becomes U+FFFD.
type plain struct {
	w    io.Writer
	rest []byte // an incomplete character
}

func (p *plain) Write(b []byte) (int, error) {
	text := append(p.rest, b...)
	out := make([]byte, 0, len(text))
	for len(text) > 0 && (utf8.FullRune(text) || len(text) >= utf8.UTFMax) {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		if !steers(r) {
			out = utf8.AppendRune(out, r)
		}
	}
	p.rest = append([]byte{}, text...)
	if _, err := p.w.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// steers reports whether a terminal acts on a character instead of printing it.
func steers(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r < ' ' || 0x7f <= r && r < 0xa0:
		return true
	}
	return r == 0x061c || r == 0x200e || r == 0x200f || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 ||
		0xe0000 <= r && r <= 0xe007f
}
