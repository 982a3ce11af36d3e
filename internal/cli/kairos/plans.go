package kairos

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/diff/plandiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/filter"
)

func (c planCommands) group() *cobra.Command {
	return command.Group("plans", "Manage stored plans", c.listCommand, c.plansShow(), c.plansAdd(), c.plansVersions(), c.plansDiff(),
		c.plansRestore(),
		c.plansPause(true), c.plansPause(false), c.plansArchive(true), c.plansArchive(false), c.plansFlow(), c.graphCommand(),
		c.convertCommand(), c.importCommand())
}

func (c planCommands) listCommand() *cobra.Command {
	var l command.ListFlags
	var query string
	var archived, paused bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List stored plans",
		Long: `Lists stored plans, latest change first. "kairos plans add", "kairos run", the
dashboard, and the API store plans. Each distinct content is a version.
--filter takes the terms tool: agent: owner: expose: label.KEY=VALUE, and words of the
key or the name. "kairos drafts" lists generated plans.`,
		Example: "  kairos plans\n  kairos plans --filter 'tool:http owner:ana'\n  kairos plans add report.yaml\n" +
			"  kairos plans show report > report.yaml",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, problem := filter.ParsePlans(query)
			if problem != nil {
				return problem
			}
			f.Query, f.Archived, f.Paused, f.Page = query, archived, paused, l.Page()
			return c.listPlans(cmd, f, "no plans found")
		},
	}
	l.Add(cmd)
	cmd.Flags().StringVar(&query, "filter", "", "filter, such as 'tool:http owner:ana'")
	cmd.Flags().BoolVar(&archived, "archived", false, "list archived plans instead")
	cmd.Flags().BoolVar(&paused, "paused", false, "list paused plans only")
	return cmd
}

func (c planCommands) listPlans(cmd *cobra.Command, f domain.PlanFilter, nothing string) error {
	return c.With(cmd, func(b *client.Client) error {
		list, err := b.Plans(cmd.Context(), f)
		if err != nil {
			return err
		}
		items, rows := []apitypes.Plan{}, [][]string{}
		for _, p := range list.Items {
			items = append(items, apitypes.PlanOf(p))
			stage := string(p.Stage)
			if p.Paused != nil {
				stage = strings.TrimSpace(stage + " paused")
			}
			rows = append(rows, []string{p.Key, "v" + strconv.Itoa(p.Latest), stage, cli.Stamp(p.UpdatedAt), p.Name})
		}
		return c.ListOf(items, list.Next, []string{"PLAN", "VERSION", "STATUS", "CHANGED", "NAME"}, rows, nothing)
	})
}

func (c planCommands) plansShow() *cobra.Command {
	var number int
	cmd := &cobra.Command{
		Use: "show PLAN", Short: "Print the source of a plan", Args: cobra.ExactArgs(1),
		Long:    "Prints the source of the newest version of a plan, or of --version N.",
		Example: "  kairos plans show report --version 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				p, err := command.FindPlan(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				if number == 0 {
					number = p.Latest
				}
				v, err := b.VersionByNumber(cmd.Context(), p.ID, number)
				if err != nil {
					return err
				}
				return c.printVersion(v)
			})
		},
	}
	cmd.Flags().IntVar(&number, "version", 0, "version number (default: the newest)")
	return cmd
}

func (c planCommands) plansVersions() *cobra.Command {
	return &cobra.Command{
		Use: "versions PLAN", Short: "List a plan's versions", Args: cobra.ExactArgs(1),
		Long:    "Lists the versions of a plan, newest first, with author and reason.",
		Example: "  kairos plans versions report",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				p, err := command.FindPlan(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				list, err := b.Versions(cmd.Context(), p.ID)
				if err != nil {
					return err
				}
				out := []apitypes.PlanVersion{}
				for _, v := range list {
					v.Source, v.Canonical = nil, nil
					out = append(out, apitypes.PlanVersionOf(v))
				}
				rows := [][]string{}
				for _, v := range list {
					rows = append(rows, []string{"v" + strconv.Itoa(v.Number), command.Yes(v.Number == p.Latest), v.Hash[:12],
						cli.Stamp(v.CreatedAt), v.Author, v.Origin, v.Reason})
				}
				return c.ListOf(out, "", []string{"VERSION", "CURRENT", "HASH", "CREATED", "BY", "ORIGIN", "REASON"}, rows, "no versions")
			})
		},
	}
}

func (c planCommands) plansDiff() *cobra.Command {
	return &cobra.Command{
		Use: "diff PLAN FROM TO", Short: "Compare two versions of a plan", Args: cobra.ExactArgs(3),
		Long: `Prints the lines that were added and removed from one version to another. Versions in
different formats are compared as YAML.`,
		Example: "  kairos plans diff report 3 4",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				p, err := command.FindPlan(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				versions, err := twoVersions(cmd.Context(), b, p.ID, args[1:])
				if err != nil {
					return err
				}
				d := plandiff.Versions(versions[0], versions[1])
				if c.JSON {
					return c.Print(
						map[string]any{"plan": p.Key, "from": versions[0].Number, "to": versions[1].Number, "reason": versions[1].Reason,
							"added": d.Added, "removed": d.Removed, "lines": diffLines(d)},
					)
				}
				for _, l := range d.Lines {
					c.Printf("%s%s\n", l.Sign, l.Text)
				}
				return nil
			})
		},
	}
}

// twoVersions returns two versions of a plan by their numbers.
func twoVersions(ctx context.Context, b *client.Client, plan string, numbers []string) (versions [2]domain.Version, err error) {
	for i, text := range numbers {
		n, err := command.VersionNumber(text)
		if err != nil {
			return versions, err
		}
		if versions[i], err = b.VersionByNumber(ctx, plan, n); err != nil {
			return versions, err
		}
	}
	return versions, nil
}

func diffLines(d plandiff.Diff) []string {
	lines := []string{}
	for _, l := range d.Lines {
		lines = append(lines, string(l.Sign)+l.Text)
	}
	return lines
}

// plansFlow shows statistics of each step of a plan.
func (c planCommands) plansFlow() *cobra.Command {
	version, since := 0, ""
	cmd := &cobra.Command{
		Use: "flow PLAN", Short: "Show statistics of each step of a plan", Args: cobra.ExactArgs(1),
		Long: `Shows how many runs reached each step of a plan, how many attempts failed, and how long
they took. It reads the newest runs that started since --since, at most 500.`,
		Example: "  kairos plans flow report\n  kairos plans flow report --version 3 --since 30d --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := filter.Moment(since, time.Now())
			if err != nil {
				return exit.Usage("--since: %s\n  use 24h, 7d, or 2030-01-31T08:00", err)
			}
			return c.With(cmd, func(b *client.Client) error {
				p, err := command.FindPlan(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				flow, err := b.PlanFlow(cmd.Context(), p.Key, version, from)
				if err != nil {
					return err
				}
				return c.printFlow(flow)
			})
		},
	}
	cmd.Flags().IntVar(&version, "version", 0, "only runs of this version")
	cmd.Flags().StringVar(&since, "since", "7d", "only runs that started since 24h, 7d, or a time")
	return cmd
}

// printFlow prints the steps of a plan, the most executed first.
func (c planCommands) printFlow(flow domain.PlanFlow) error {
	if c.JSON {
		return c.Print(apitypes.PlanFlowOf(flow))
	}
	rows := [][]string{}
	for _, id := range slices.SortedFunc(maps.Keys(flow.Nodes), func(x, y string) int {
		return cmp.Or(cmp.Compare(flow.Nodes[y].Runs, flow.Nodes[x].Runs), cmp.Compare(x, y))
	}) {
		n := flow.Nodes[id]
		rows = append(rows, []string{id, strconv.Itoa(n.Runs), strconv.Itoa(n.Settled), strconv.Itoa(n.Failed), strconv.Itoa(n.Skipped),
			strconv.Itoa(n.Attempts), cli.Took(n.P50), cli.Took(n.P95)})
	}
	c.Table([]string{"STEP", "RUNS", "ENDED", "FAILED", "SKIPPED", "ATTEMPTS", "P50", "P95"}, rows)
	c.Notef("%s since %s\n", command.Counted(flow.Runs, "run"), cli.Stamp(flow.Since))
	return nil
}
