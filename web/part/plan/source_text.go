package plan

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/a-h/templ"
)

// sourceText writes highlighted lines with their numbers. It is not a template, because a template
// would change the whitespace.
func sourceText(lines [][]Span, first int) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		for i, line := range lines {
			n := strconv.Itoa(first + i)
			b.WriteString(`<span class="ln" id="L` + n + `">` + n + `</span>`)
			for _, s := range line {
				if s.Class == "" {
					b.WriteString(templ.EscapeString(s.Text))
				} else {
					b.WriteString(`<span class="` + templ.EscapeString(s.Class) + `">` + templ.EscapeString(s.Text) + `</span>`)
				}
			}
			b.WriteByte('\n')
		}
		_, err := io.WriteString(w, b.String())
		return err
	})
}
