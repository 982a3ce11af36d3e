package kairos

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner"
)

func (c planCommands) plansAdd() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "add FILE…", Short: "Store plan files", Args: cobra.MinimumNArgs(1),
		Long:    "Checks plan files and stores each as a new version of its plan. Content that is known already is not stored again.",
		Example: "  kairos plans add report.yaml --reason \"retry the upload\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				for _, file := range args {
					src, format, err := c.readPlan(file)
					if err != nil {
						return err
					}
					p, v, created, problems, err := b.SavePlan(cmd.Context(), src, format, "cli", reason)
					if err != nil {
						return c.invalid(file, problems, err)
					}
					c.warnings(file, problems)
					if c.json {
						if err := c.Print(map[string]any{"id": p.ID, "key": p.Key, "version": v.Number, "hash": v.Hash, "created": created, "problems": problems}); err != nil {
							return err
						}
						continue
					}
					what := "stored"
					if !created {
						what = "known already"
					}
					c.Printf("%s v%d %s\n", p.Key, v.Number, what)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the history")
	return cmd
}

func (c planCommands) plansRestore() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use: "restore PLAN VERSION", Short: "Make an earlier version of a plan its current one", Args: cobra.ExactArgs(2),
		Long: `Makes a version the current one again: what is started from now on follows it, and runs
under way keep theirs. A version is its content, so that it keeps its number; the audit
log says who went back and why. It is refused when somebody stored another version
meanwhile. "kairos plans diff" says how versions differ.`,
		Example: "  kairos plans restore report 12 --reason \"v13 sends twice\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := versionNumber(args[1])
			if err != nil {
				return err
			}
			return c.with(cmd, func(b *client.Client) error {
				p, err := findPlan(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				before := p.Latest
				if p, err = b.RestoreVersion(cmd.Context(), p.ID, n, p.LatestHash, reason); err != nil {
					return err
				}
				if c.json {
					return c.Print(viewPlan(p))
				}
				c.Printf("%s: v%d is current, in the place of v%d\n", p.Key, p.Latest, before)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	return cmd
}

func (c planCommands) plansPause(on bool) *cobra.Command {
	use, short, done := "pause", "Let no run of a plan start", "is paused: no run of it starts"
	long := `Lets no run of a plan start, over whatever surface, until "plans unpause". Runs under way go on;
existing runs can still be resumed, rerun and forked.`
	if !on {
		use, short, long, done = "unpause", "Let runs of a paused plan start again", "Lets runs of a paused plan start again.", "is paused no more"
	}
	reason := ""
	cmd := &cobra.Command{
		Use: use + " PLAN", Short: short, Args: cobra.ExactArgs(1), Long: long, Example: "  kairos plans " + use + " report --reason \"the bank asks for it\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				p, err := findPlan(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				if err := b.PausePlan(cmd.Context(), p.ID, on, reason); err != nil {
					return err
				}
				if p, err = findPlan(cmd.Context(), b, args[0]); err != nil {
					return err
				}
				return c.planSaid(p, done)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	return cmd
}

func (c planCommands) plansArchive(archive bool) *cobra.Command {
	use, short, long, done := "archive", "Hide a plan from lists", "Hides a plan from lists; its runs stay, and \"plans unarchive\" brings it back. An archived plan cannot be started.", "is archived"
	if !archive {
		use, short, long, done = "unarchive", "Bring an archived plan back", "Shows an archived plan in lists again.", "is in lists again"
	}
	reason := ""
	cmd := &cobra.Command{
		Use: use + " PLAN", Short: short, Args: cobra.ExactArgs(1), Long: long, Example: "  kairos plans " + use + " report --reason \"replaced by report-2\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				p, err := findPlan(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				if err := b.ArchivePlan(cmd.Context(), p.ID, archive, reason); err != nil {
					return err
				}
				p.Archived = archive
				return c.planSaid(p, done)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	return cmd
}

func (c planCommands) graphCommand() *cobra.Command {
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
