package kairos

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/diff/plandiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/planner"
)

// planView is a plan as `--json` prints it.
type planView struct {
	ID        string       `json:"id"`
	Key       string       `json:"key"`
	Name      string       `json:"name,omitempty"`
	Version   int          `json:"version"`
	Hash      string       `json:"hash"`
	UpdatedAt string       `json:"updatedAt"`
	Archived  bool         `json:"archived,omitempty"`
	Stage     string       `json:"stage,omitempty"`
	Paused    *domain.Stop `json:"paused,omitempty"`
}

func viewPlan(p domain.Plan) planView {
	return planView{p.ID, p.Key, p.Name, p.Latest, p.LatestHash, p.UpdatedAt.Format(time.RFC3339), p.Archived, string(p.Stage), p.Paused}
}

func (c *program) plansCommand() *cobra.Command {
	var l listFlags
	var query string
	var archived, paused bool
	cmd := &cobra.Command{
		Use:   "plans",
		Short: "List, store and show plans",
		Long: `Lists stored plans, latest change first. Plans are stored by "plans add", by "run",
by the dashboard and by the API; every distinct content is a version of its own.
--filter has the grammar of the dashboard's page: tool: agent: owner: label.key=value
and words of the key or name. Drafts of planners are listed by "kairos drafts", too.`,
		Example: "  kairos plans\n  kairos plans --filter 'tool:http owner:ana'\n  kairos plans add report.yaml\n  kairos plans show report > report.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, problem := filter.ParsePlans(query)
			if problem != nil {
				return problem
			}
			f.Query, f.Archived, f.Paused, f.Page = query, archived, paused, l.page()
			return c.listPlans(cmd, f, "no plan matches")
		},
	}
	l.add(cmd)
	cmd.Flags().StringVar(&query, "filter", "", "only plans like this, such as 'tool:http owner:ana'")
	cmd.Flags().BoolVar(&archived, "archived", false, "list archived plans instead")
	cmd.Flags().BoolVar(&paused, "paused", false, "list paused plans only")
	cmd.AddCommand(c.plansAdd(), c.plansShow(), c.plansVersions(), c.plansDiff(), c.plansRestore(), c.plansPause(true), c.plansPause(false), c.plansArchive(true), c.plansArchive(false), c.plansFlow())
	return cmd
}

func (c *program) listPlans(cmd *cobra.Command, f domain.PlanFilter, nothing string) error {
	return c.with(cmd, func(b *client.Client) error {
		list, err := b.Plans(cmd.Context(), f)
		if err != nil {
			return err
		}
		items, rows := []planView{}, [][]string{}
		for _, p := range list.Items {
			items = append(items, viewPlan(p))
			stage := string(p.Stage)
			if p.Paused != nil {
				stage = strings.TrimSpace(stage + " paused")
			}
			rows = append(rows, []string{p.Key, "v" + strconv.Itoa(p.Latest), stage, cli.Stamp(p.UpdatedAt), p.Name})
		}
		return c.Listed(c.json, items, list.Next, []string{"PLAN", "VERSION", "STAGE", "CHANGED", "NAME"}, rows, nothing)
	})
}

func (c *program) plansAdd() *cobra.Command {
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

func (c *program) plansShow() *cobra.Command {
	var number int
	cmd := &cobra.Command{
		Use: "show PLAN", Short: "Print a plan as it was written", Args: cobra.ExactArgs(1),
		Long:    "Prints the source of a plan's newest version, or of --version N.",
		Example: "  kairos plans show report --version 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				p, err := findPlan(cmd.Context(), b, args[0])
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
				return c.printVersion(p, v)
			})
		},
	}
	cmd.Flags().IntVar(&number, "version", 0, "version number (default: the newest)")
	return cmd
}

func (c *program) plansVersions() *cobra.Command {
	return &cobra.Command{
		Use: "versions PLAN", Short: "List a plan's versions", Args: cobra.ExactArgs(1),
		Long:    "Lists a plan's versions, newest first, with who stored them and why.",
		Example: "  kairos plans versions report",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				p, err := findPlan(cmd.Context(), b, args[0])
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
					Latest bool   `json:"current,omitempty"`
				}
				out := []view{}
				for _, v := range list {
					out = append(out, view{v.Number, v.Hash, v.Author, v.Origin, v.Reason, v.CreatedAt.Format(time.RFC3339), v.Number == p.Latest})
				}
				if c.json {
					return c.Print(map[string]any{"items": out})
				}
				rows := [][]string{}
				for _, v := range list {
					current := ""
					if v.Number == p.Latest {
						current = "current"
					}
					rows = append(rows, []string{"v" + strconv.Itoa(v.Number), current, v.Hash[:12], cli.Stamp(v.CreatedAt), v.Author, v.Origin, v.Reason})
				}
				c.Table([]string{"VERSION", "", "HASH", "STORED", "BY", "ORIGIN", "REASON"}, rows)
				return nil
			})
		},
	}
}

func (c *program) plansDiff() *cobra.Command {
	return &cobra.Command{
		Use: "diff PLAN FROM TO", Short: "Say what changed from one version of a plan to another", Args: cobra.ExactArgs(3),
		Long: `Prints the lines that were added and removed from one version to another. Versions
that were written in different formats, as after a run was planned anew, are
compared as YAML.`,
		Example: "  kairos plans diff report 3 4",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				p, err := findPlan(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				var versions [2]domain.Version
				for i, text := range args[1:] {
					n, err := versionNumber(text)
					if err != nil {
						return err
					}
					if versions[i], err = b.VersionByNumber(cmd.Context(), p.ID, n); err != nil {
						return err
					}
				}
				d := plandiff.Versions(versions[0], versions[1])
				if c.json {
					return c.Print(map[string]any{"plan": p.Key, "from": versions[0].Number, "to": versions[1].Number, "reason": versions[1].Reason, "added": d.Added, "removed": d.Removed, "lines": diffLines(d)})
				}
				for _, l := range d.Lines {
					c.Printf("%s%s\n", l.Sign, l.Text)
				}
				return nil
			})
		},
	}
}

func diffLines(d plandiff.Diff) []string {
	lines := []string{}
	for _, l := range d.Lines {
		lines = append(lines, string(l.Sign)+l.Text)
	}
	return lines
}

// versionNumber reads a version as people write it: 3 or v3.
func versionNumber(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(text, "v"))
	if err != nil || n < 1 {
		return 0, exit.Usage("%q is no number of a version", text)
	}
	return n, nil
}

// printVersion prints a version as it was written.
func (c *program) printVersion(p domain.Plan, v domain.Version) error {
	if c.json {
		return c.Print(map[string]any{"plan": viewPlan(p), "version": v.Number, "hash": v.Hash, "format": v.Format, "source": string(v.Source)})
	}
	c.Printf("%s\n", strings.TrimRight(string(v.Source), "\n"))
	return nil
}

// showSteps says on stderr who does what in a version.
func (c *program) showSteps(v domain.Version) {
	d, problems := planner.Parse(v.Source, planner.WithFormat(planner.Format(v.Format)))
	if problems.Err() != nil {
		return // the source is printed; what is wrong with it is said when it is started
	}
	p, err := d.Program(nil)
	if err != nil {
		return // as above
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		c.Errorf("  %-24s %s %s\n", n.ID, cmp.Or(n.Agent, n.Tool, n.TypeName), cli.FirstLine(n.Task))
	}
}

func (c *program) plansRestore() *cobra.Command {
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

func (c *program) plansPause(on bool) *cobra.Command {
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

func (c *program) plansArchive(archive bool) *cobra.Command {
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

// plansFlow says how runs went through a plan.
func (c *program) plansFlow() *cobra.Command {
	version, since := 0, ""
	cmd := &cobra.Command{
		Use: "flow PLAN", Short: "Say how the newest runs of a plan went, step by step", Args: cobra.ExactArgs(1),
		Long: `Says for each step of a plan how many runs came to it, how many attempts failed and how
long they took, of the newest runs that began since --since (at most 500).`,
		Example: "  kairos plans flow report\n  kairos plans flow report --version 3 --since 30d --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := filter.Moment(since, time.Now())
			if err != nil {
				return exit.Usage("--since: %s\n  write 24h, 7d or 2030-01-31T08:00", err)
			}
			return c.with(cmd, func(b *client.Client) error {
				p, err := findPlan(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				flow, err := b.PlanFlow(cmd.Context(), p.Key, version, from)
				if err != nil {
					return err
				}
				if c.json {
					return c.Print(domain.ViewPlanFlow(flow))
				}
				rows := [][]string{}
				for _, id := range slices.SortedFunc(maps.Keys(flow.Nodes), func(x, y string) int {
					return cmp.Or(cmp.Compare(flow.Nodes[y].Runs, flow.Nodes[x].Runs), cmp.Compare(x, y))
				}) {
					n := flow.Nodes[id]
					rows = append(rows, []string{id, strconv.Itoa(n.Runs), strconv.Itoa(n.Settled), strconv.Itoa(n.Failed), strconv.Itoa(n.Skipped), strconv.Itoa(n.Attempts), took(n.P50), took(n.P95)})
				}
				c.Table([]string{"STEP", "RUNS", "ENDED", "FAILED", "SKIPPED", "ATTEMPTS", "P50", "P95"}, rows)
				c.Errorf("%d runs, the oldest of %s\n", flow.Runs, cli.Stamp(flow.Since))
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&version, "version", 0, "only runs of this version")
	cmd.Flags().StringVar(&since, "since", "7d", "only runs that began since: 24h, 7d, or a time")
	return cmd
}
