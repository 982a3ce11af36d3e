package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/plandiff"
)

// planView is a plan as `--json` prints it.
type planView struct {
	ID        string `json:"id"`
	Key       string `json:"key"`
	Name      string `json:"name,omitempty"`
	Version   int    `json:"version"`
	Hash      string `json:"hash"`
	UpdatedAt string `json:"updatedAt"`
}

func viewPlan(p kairos.Plan) planView {
	return planView{p.ID, p.Key, p.Name, p.Latest, p.LatestHash, p.UpdatedAt.Format("2006-01-02T15:04:05Z07:00")}
}

func (c *app) plansCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:     "plans",
		Short:   "List, store and show plans",
		Long:    "Lists stored plans, latest change first. Plans are stored by \"plans add\", by \"run\", by the dashboard and by the API; every distinct content is a version of its own.",
		Example: "  kairos plans\n  kairos plans add report.yaml\n  kairos plans show report > report.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(b backend) error {
				list, err := b.Plans(cmd.Context(), kairos.PlanFilter{Page: kairos.Page{Limit: limit}})
				if err != nil {
					return err
				}
				if c.json {
					out := []planView{}
					for _, p := range list.Items {
						out = append(out, viewPlan(p))
					}
					return c.print(map[string]any{"items": out, "next": list.Next})
				}
				for _, p := range list.Items {
					c.printf("%-32s v%-4d %s  %s\n", p.Key, p.Latest, p.UpdatedAt.Format("2006-01-02 15:04:05Z"), p.Name)
				}
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many (200)")
	cmd.AddCommand(c.plansAdd(), c.plansShow(), c.plansVersions(), c.plansDiff())
	return cmd
}

func (c *app) plansAdd() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "add FILE…", Short: "Store plan files", Args: cobra.MinimumNArgs(1),
		Long:    "Checks plan files and stores each as a new version of its plan. Content that is known already is not stored again.",
		Example: "  kairos plans add report.yaml --reason \"retry the upload\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b backend) error {
				for _, file := range args {
					src, format, err := c.readPlan(file)
					if err != nil {
						return err
					}
					p, v, created, problems, err := b.SavePlan(cmd.Context(), c.actor(), src, format, "cli", reason)
					if err != nil {
						return c.invalid(file, problems, err)
					}
					c.warnings(file, problems)
					if c.json {
						if err := c.print(map[string]any{"id": p.ID, "key": p.Key, "version": v.Number, "hash": v.Hash, "created": created, "problems": problems}); err != nil {
							return err
						}
						continue
					}
					what := "stored"
					if !created {
						what = "known already"
					}
					c.printf("%s v%d %s\n", p.Key, v.Number, what)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the history")
	return cmd
}

func (c *app) plansShow() *cobra.Command {
	var number int
	cmd := &cobra.Command{
		Use: "show PLAN", Short: "Print a plan as it was written", Args: cobra.ExactArgs(1),
		Long:    "Prints the source of a plan's newest version, or of --version N.",
		Example: "  kairos plans show report --version 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b backend) error {
				p, err := b.Plan(cmd.Context(), args[0])
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
				if c.json {
					return c.print(map[string]any{"plan": viewPlan(p), "version": v.Number, "hash": v.Hash, "format": v.Format, "source": string(v.Source)})
				}
				c.printf("%s\n", strings.TrimRight(string(v.Source), "\n"))
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&number, "version", 0, "version number (default: the newest)")
	return cmd
}

func (c *app) plansVersions() *cobra.Command {
	return &cobra.Command{
		Use: "versions PLAN", Short: "List a plan's versions", Args: cobra.ExactArgs(1),
		Long:    "Lists a plan's versions, newest first, with who stored them and why.",
		Example: "  kairos plans versions report",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b backend) error {
				p, err := b.Plan(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				list, err := b.Versions(cmd.Context(), p.ID)
				if err != nil {
					return err
				}
				type view struct {
					Number int    `json:"number"`
					Hash   string `json:"hash"`
					Author string `json:"author"`
					Origin string `json:"origin"`
					Reason string `json:"reason,omitempty"`
					At     string `json:"at"`
				}
				out := []view{}
				for _, v := range list {
					out = append(out, view{v.Number, v.Hash, v.Author, v.Origin, v.Reason, v.CreatedAt.Format("2006-01-02T15:04:05Z07:00")})
				}
				if c.json {
					return c.print(map[string]any{"items": out})
				}
				for _, v := range out {
					c.printf("v%-4d %s  %s  %-12s %s\n", v.Number, v.Hash[:12], v.At, v.Author, v.Reason)
				}
				return nil
			})
		},
	}
}

func (c *app) plansDiff() *cobra.Command {
	return &cobra.Command{
		Use: "diff PLAN FROM TO", Short: "Say what changed from one version of a plan to another", Args: cobra.ExactArgs(3),
		Long: `Prints the lines that were added and removed from one version to another. Versions
that were written in different formats, as after a run was planned anew, are
compared as YAML.`,
		Example: "  kairos plans diff report 3 4",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b backend) error {
				p, err := b.Plan(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				var versions [2]kairos.Version
				for i, text := range args[1:] {
					n, err := strconv.Atoi(strings.TrimPrefix(text, "v"))
					if err != nil {
						return usage("%q is no number of a version", text)
					}
					if versions[i], err = b.VersionByNumber(cmd.Context(), p.ID, n); err != nil {
						return err
					}
				}
				d := plandiff.Versions(versions[0], versions[1])
				if c.json {
					lines := []string{}
					for _, l := range d.Lines {
						lines = append(lines, string(l.Sign)+l.Text)
					}
					return c.print(map[string]any{"plan": p.Key, "from": versions[0].Number, "to": versions[1].Number, "reason": versions[1].Reason, "added": d.Added, "removed": d.Removed, "lines": lines})
				}
				for _, l := range d.Lines {
					c.printf("%s%s\n", l.Sign, l.Text)
				}
				return nil
			})
		},
	}
}
