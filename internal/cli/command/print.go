package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/domain"
)

// ListOf prints a list, see [cli.Streams.Listed].
func (c *Program) ListOf(items any, next string, headings []string, rows [][]string, nothing string) error {
	return c.Listed(c.JSON, items, next, headings, rows, nothing, c.Notef)
}

// Done prints the change that a command made: a line, or an object with --json.
func (c *Program) Done(object any, format string, args ...any) error {
	if c.JSON {
		return c.Print(object)
	}
	c.Printf(format+"\n", args...)
	return nil
}

// Counted returns a number with its noun, such as "1 run" or "3 runs".
func Counted[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Yes returns yes or nothing, for a column of a table.
func Yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// IndentJSON indents a stored value. JSON escapes control sequences, so that its text contains
// none.
func IndentJSON(raw domain.RawJSON, prefix string) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, prefix, "  ") != nil {
		return strings.ToValidUTF8(string(raw), "")
	}
	return b.String()
}

// Milliseconds returns a duration in milliseconds as text.
func Milliseconds(ms int64) string { return cli.Took(time.Duration(ms) * time.Millisecond) }

// Named returns the item of a list that has a name.
func Named[T any](list []T, want, what, lists string, name func(T) string) (found T, err error) {
	for _, x := range list {
		if name(x) == want {
			return x, nil
		}
	}
	return found, domain.Errorf(domain.CodeNotFound, "%s %q not found", what, want).Suggest("list them: %s", lists)
}

// ValueLine formats a value on one line, or "" if there is none.
func ValueLine(j domain.RawJSON) string {
	if len(j) == 0 || string(j) == "null" {
		return ""
	}
	return cli.Clip(strings.ReplaceAll(cli.JSONText(j), "\n", " "), 120)
}
