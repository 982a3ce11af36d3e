package kairos

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

func (c planCommands) plansAdd() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "add FILE…", Short: "Store plan files", Args: cobra.MinimumNArgs(1),
		Long: `Checks plan files and stores each as a new version of its plan. Content that is stored
already is not stored again. Files that a plan names, such as "plan: ./other.yaml",
are stored with it.`,
		Example: "  kairos plans add report.yaml --reason \"retry the upload\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				items := []map[string]any{}
				err := c.add(cmd.Context(), b, args, reason, &items)
				if !c.JSON || err != nil && len(items) == 0 {
					return err
				}
				return errors.Join(c.Items(items, ""), err)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the list of versions")
	return cmd
}

// add stores plan files until one is refused.
func (c planCommands) add(ctx context.Context, b *client.Client, files []string, reason string, items *[]map[string]any) error {
	for _, file := range files {
		doc := document{name: file}
		if err := startCommands(c).read(&doc); err != nil {
			return err
		}
		if doc.files.Several() {
			stored, problems, err := b.StorePlanFiles(ctx, doc.files.Request(), reason)
			if err != nil {
				return c.invalid(file, doc.files.Located(problems), err)
			}
			for _, s := range stored {
				c.added(doc.files.Path(s.File), s.StoredPlan, s.New, doc.files.Located(s.Problems), items)
			}
			continue
		}
		p, v, created, problems, err := b.SavePlan(ctx, doc.source, doc.format, "cli", reason)
		if err != nil {
			return c.invalid(file, problems, err)
		}
		c.added(file, apitypes.StoredPlan{ID: p.ID, Key: p.Key, Version: v.Number, Hash: v.Hash}, created, problems, items)
	}
	return nil
}

// added prints a stored plan, and adds it to the items of --json.
func (c planCommands) added(file string, p apitypes.StoredPlan, created bool, problems planner.Problems, items *[]map[string]any) {
	c.warnings(file, problems)
	*items = append(*items, map[string]any{"id": p.ID, "key": p.Key, "version": p.Version, "hash": p.Hash, "created": created,
		"problems": problems})
	if c.JSON {
		return
	}
	what := "stored"
	if !created {
		what = "unchanged"
	}
	c.Printf("%s v%d %s\n", p.Key, p.Version, what)
}

func (c planCommands) plansRestore() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use: "restore PLAN VERSION", Short: "Restore an earlier version of a plan", Args: cobra.ExactArgs(2),
		Long: `Makes an earlier version the current one. New runs follow it, and active runs keep
their version. The version keeps its number, and the audit log records the change. If
another version was stored meanwhile, nothing changes. "kairos plans diff"
compares versions.`,
		Example: "  kairos plans restore report 12 --reason \"v13 sends twice\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := command.VersionNumber(args[1])
			if err != nil {
				return err
			}
			return c.With(cmd, func(b *client.Client) error {
				p, err := command.FindPlan(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				before := p.Latest
				if p, err = b.RestoreVersion(cmd.Context(), p.ID, n, p.LatestHash, reason); err != nil {
					return err
				}
				if c.JSON {
					return c.Print(apitypes.PlanOf(p))
				}
				c.Printf("%s: v%d is current (before: v%d)\n", p.Key, p.Latest, before)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log")
	return cmd
}

func (c planCommands) plansPause(on bool) *cobra.Command {
	use, short, done := "pause", "Pause a plan", "is paused"
	long := `Pauses a plan: no run of it starts until "kairos plans unpause". Active runs continue.
Existing runs can be resumed, rerun, and forked.`
	if !on {
		use, short, long, done = "unpause", "Unpause a plan", "Ends the pause of a plan: runs of it can start again.", "is no longer paused"
	}
	reason := ""
	cmd := &cobra.Command{
		Use: use + " PLAN", Short: short, Args: cobra.ExactArgs(1), Long: long,
		Example: "  kairos plans " + use + " report --reason \"requested by the bank\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				p, err := command.FindPlan(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				if err := b.PausePlan(cmd.Context(), p.ID, on, reason); err != nil {
					return err
				}
				if p, err = command.FindPlan(cmd.Context(), b, args[0]); err != nil {
					return err
				}
				return c.printPlan(p, done)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log")
	return cmd
}

func (c planCommands) plansArchive(archive bool) *cobra.Command {
	use, short, long, done := "archive", "Archive a plan",
		"Archives a plan: lists hide it, and no run of it starts. Its runs are kept.\n\"kairos plans unarchive\" restores it.",
		"is archived"
	if !archive {
		use, short, long, done = "unarchive", "Restore an archived plan",
			"Restores an archived plan: lists show it, and runs of it can start.", "is no longer archived"
	}
	reason := ""
	cmd := &cobra.Command{
		Use: use + " PLAN", Short: short, Args: cobra.ExactArgs(1), Long: long,
		Example: "  kairos plans " + use + " report --reason \"replaced by report-2\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				p, err := command.FindPlan(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				if err := b.ArchivePlan(cmd.Context(), p.ID, archive, reason); err != nil {
					return err
				}
				p.Archived = archive
				return c.printPlan(p, done)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log")
	return cmd
}

func (c planCommands) graphCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "graph FILE|PLAN[@VERSION]", Short: "Draw a plan", Args: cobra.ExactArgs(1),
		Long: `Draws a plan file or a stored plan as Mermaid or DOT text, or as SVG, on stdout. It does
not check the names of tools and agents.`,
		Example: "  kairos plans graph plan.yaml\n  kairos plans graph report@3 --format svg > report.svg",
		RunE: func(cmd *cobra.Command, args []string) error {
			doc, err := startCommands(c).document(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			d, problems := planner.Parse(doc.source, planner.WithFormat(doc.format))
			if problems.Err() != nil {
				c.problems(args[0], problems)
				return &exit.Status{Code: exit.BadUsage}
			}
			p, err := d.Program(nil)
			if err != nil {
				return err
			}
			out, err := drawn(p, format)
			if err != nil {
				return err
			}
			return c.Done(map[string]string{"format": format, "graph": out}, "%s", strings.TrimRight(out, "\n"))
		},
	}
	cmd.Flags().StringVar(&format, "format", "mermaid", "mermaid, dot, or svg")
	return cmd
}

// drawn draws the graph of a plan in a format.
func drawn(p *walk.Program, format string) (string, error) {
	switch format {
	case "mermaid":
		return diagram.Mermaid(p), nil
	case "dot":
		return diagram.DOT(p), nil
	case "svg":
		return string(diagram.SVG(diagram.Layout(p, diagram.Options{}))), nil
	}
	return "", exit.Usage("unknown format %q\n  use mermaid, dot, or svg", format)
}
