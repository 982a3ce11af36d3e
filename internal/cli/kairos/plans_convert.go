package kairos

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner"
)

func (c planCommands) convertCommand() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "convert FILE|PLAN[@VERSION]", Short: "Convert a step plan to a graph", Args: cobra.ExactArgs(1),
		Long: `Rewrites a step plan (with steps) as a graph (with nodes), and prints it. The graph has the
same steps, order, retries, and timeouts. Defaults of step plans are written out, and
the input of an agent contains the request and the results that it needs. Skills are
those of the configuration (--config). The file does not change.`,
		Example: "  kairos plans convert steps.yaml > graph.yaml\n  kairos plans convert report@3 --to json",
		RunE: func(cmd *cobra.Command, args []string) error {
			format := planner.Format(to)
			if !slices.Contains([]planner.Format{planner.FormatAuto, planner.FormatYAML, planner.FormatJSON}, format) {
				return exit.Usage("unknown format %q\n  use yaml or json", to)
			}
			doc, err := startCommands(c).document(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			catalog, err := checkCommands(c).catalog(cmd.Context())
			if err != nil {
				return err
			}
			d, problems := planner.Parse(doc.source, planner.WithFormat(doc.format))
			if problems.Err() != nil {
				c.problems(args[0], problems)
				return &exit.Status{Code: exit.BadUsage}
			}
			if d.Steps == nil {
				return exit.Usage("%s is a graph already", args[0])
			}
			if format == planner.FormatAuto {
				format = d.Format
			}
			return c.convert(args[0], d.Steps, catalog, format)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "yaml or json (default: the format of the plan)")
	return cmd
}

// convert prints a step plan as a graph.
func (c planCommands) convert(name string, steps *planner.StepPlan, catalog *planner.Catalog, format planner.Format) error {
	g, problems := steps.ToGraph(catalog)
	if problems.Err() != nil {
		c.problems(name, problems)
		return &exit.Status{Code: exit.BadUsage}
	}
	c.warnings(name, problems)
	out, err := g.Encode(format)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.Print(map[string]any{"format": format, "document": string(out), "problems": append(planner.Problems{}, problems...)})
	}
	c.Printf("%s\n", strings.TrimRight(string(out), "\n"))
	return nil
}
