package kairos

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner"
)

func (c *program) graphCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "graph FILE", Short: "Draw a plan", Args: cobra.ExactArgs(1),
		Long:    "Draws a plan as Mermaid or DOT text, or as a picture (svg), on stdout. Names of tools and agents are not checked.",
		Example: "  kairos graph plan.yaml\n  kairos graph plan.yaml --format svg > plan.svg",
		RunE: func(_ *cobra.Command, args []string) error {
			src, f, err := c.readPlan(args[0])
			if err != nil {
				return err
			}
			d, problems := planner.Parse(src, planner.WithFormat(f))
			if problems.Err() != nil {
				c.problems(args[0], problems)
				return &exit.Status{Code: exit.BadUsage}
			}
			p, err := d.Program(nil)
			if err != nil {
				return err
			}
			out := ""
			switch format {
			case "mermaid":
				out = diagram.Mermaid(p)
			case "dot":
				out = diagram.DOT(p)
			case "svg":
				out = string(diagram.SVG(diagram.Layout(p, diagram.Options{})))
			default:
				return exit.Usage("unknown format %q (mermaid, dot or svg)", format)
			}
			if c.json {
				return c.Print(map[string]string{"format": format, "graph": out})
			}
			c.Printf("%s\n", strings.TrimRight(out, "\n"))
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "mermaid", "mermaid, dot or svg")
	return cmd
}
