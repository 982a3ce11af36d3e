package kairos

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/diff/jsondiff"
	"github.com/kairosd/kairosd/internal/diff/rundiff"
	"github.com/kairosd/kairosd/internal/domain"
)

// compareCommand compares two runs.
func (c runCommands) compareCommand() *cobra.Command {
	return &cobra.Command{
		Use: "compare RUN [RUN]", Short: "Compare two runs", Args: cobra.RangeArgs(1, 2),
		Long: `Compares two runs: the first step that differs, input, output, and each step. Without
a second run, it compares with the last completed run of the same plan. Lines with -
belong to the first run, lines with + to the second. The exit code is 0 also if the
runs differ.`,
		Example: "  kairos runs compare 7qx2 m3k9\n  kairos runs compare 7qx2\n  kairos runs compare 7qx2 m3k9 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				other := ""
				if len(args) > 1 {
					other = args[1]
				}
				d, err := b.CompareRuns(cmd.Context(), args[0], other)
				if err != nil {
					return command.ListedBy(err, "list runs: kairos runs")
				}
				if c.JSON {
					return c.Print(printedComparison{d, printedSide{d.A.ID, d.A}, printedSide{d.B.ID, d.B}})
				}
				c.compared(d)
				return nil
			})
		},
	}
}

// compared prints a comparison.
func (c runCommands) compared(d rundiff.Comparison) {
	for _, side := range []struct {
		name string
		rundiff.Side
	}{{"first ", d.A}, {"second", d.B}} {
		c.Printf(
			"%s  %s  %s v%d  %s  %s  by %s\n",
			side.name,
			side.ID,
			side.Plan.Key,
			side.Plan.Version,
			side.Status,
			command.Milliseconds(side.TookMs),
			cli.FirstLine(side.Actor),
		)
	}
	if d.First != nil {
		c.Printf("first difference at step %s: %s\n", d.First.Step, cli.FirstLine(d.First.Explanation))
	} else {
		c.Printf("no differences between steps\n")
	}
	c.differs("input", d.Input)
	c.differs("output", d.Output)
	for _, s := range d.Steps {
		if s.Output != nil {
			c.differs("output of "+s.Step, *s.Output)
		}
	}
	for _, k := range []struct {
		what string
		a, b []string
	}{{"agents", d.A.Agents, d.B.Agents}, {"tools", d.A.Tools, d.B.Tools}, {"providers", d.A.Providers, d.B.Providers}} {
		if x, y := strings.Join(k.a, ", "), strings.Join(k.b, ", "); x != y {
			c.Printf("%s: %s; in the second run %s\n", k.what, cmp.Or(x, "-"), cmp.Or(y, "-"))
		}
	}
	rows := [][]string{}
	for _, s := range d.Steps {
		longer := ""
		if ms := s.LongerMs; ms >= 100 {
			longer = "+" + command.Milliseconds(ms)
		} else if ms <= -100 {
			longer = "-" + command.Milliseconds(-ms)
		}
		rows = append(rows, []string{s.Step, seen(s.A), seen(s.B), longer, s.Explanation})
	}
	c.Table([]string{"STEP", "FIRST", "SECOND", "DURATION", "DIFFERENCE"}, rows)
	if d.Left > 0 {
		c.Notef("%s not compared\n", command.Counted(d.Left, "more step"))
	}
}

// seen describes a step of one run for a cell.
func seen(s *rundiff.Seen) string {
	if s == nil {
		return "-"
	}
	text := string(s.Status) + " " + command.Milliseconds(s.TookMs)
	if s.Attempts > 1 {
		text += fmt.Sprintf(" (attempt %d)", s.Attempts)
	}
	return text
}

// differs prints the differences of a value, if any.
func (c runCommands) differs(what string, v rundiff.Value) {
	if v.Same {
		return
	}
	c.Printf("%s:\n", what)
	if v.TooLong {
		c.Printf("  too long to compare: %d bytes; in the second run %d bytes\n", v.BytesA, v.BytesB)
	}
	for _, ch := range v.Changes {
		if ch.Op != jsondiff.Added {
			c.Printf("  - %s%s\n", pathOf(ch.Path), part(ch.A))
		}
		if ch.Op != jsondiff.Removed {
			c.Printf("  + %s%s\n", pathOf(ch.Path), part(ch.B))
		}
	}
	if v.More {
		c.Printf("  more differences are not shown\n")
	}
}

func pathOf(path string) string {
	if path == "" {
		return ""
	}
	return cli.FirstLine(path) + "  "
}

// part formats a value for a line.
func part(j domain.RawJSON) string {
	const most = 400
	if j == nil {
		return "(long)"
	}
	return cli.Fit(cli.FirstLine(string(j)), most)
}

// printedComparison is a comparison as --json prints it. The id of each run is runId, as in other
// commands.
type printedComparison struct {
	rundiff.Comparison
	A printedSide `json:"a"`
	B printedSide `json:"b"`
}

type printedSide struct {
	RunID string `json:"runId"`
	rundiff.Side
}
