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
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/filter"
)

func (c runCommands) group() *cobra.Command {
	return command.Group(
		"runs",
		"List, show, and change runs",
		c.listCommand,
		c.showCommand(),
		c.logsCommand(),
		c.resumeCommand(),
		c.rerunCommand(),
		c.forkCommand(),
		c.undoCommand(),
		c.cancelCommand(),
		c.pauseCommand(),
		c.limitsCommand(),
		c.resolveCommand(),
		c.doubtsCommand(),
		c.labelCommand(),
		noteCommands(c).noteCommand(),
		c.compareCommand(),
		c.exportCommand(),
		c.deleteCommand(),
		c.stepsCommand(),
		c.handoffsCommand(),
	)
}

func (c runCommands) listCommand() *cobra.Command {
	var l command.ListFlags
	var status, plan, since, query, view string
	var labels []string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs",
		Long: `Lists runs, newest first. --since compares the end of finished runs, and the start of
others. --filter takes the same filter as the list of runs on the dashboard.`,
		Example: "  kairos runs --status failed --since 24h\n  kairos runs --filter 'status:failed plan:invoice took:>5m'\n" +
			"  kairos runs --view nightly\n  kairos runs --plan report --json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if view != "" || query != "" {
				if view != "" && query != "" || status != "" || plan != "" || since != "" || len(labels) > 0 {
					return exit.Usage("use either --filter, or --view, or --status, --plan, --since, and --label")
				}
				return c.With(cmd, func(b *client.Client) error { return c.listMatching(cmd, b, view, query, l.Page()) })
			}
			f, err := runFilter(status, since, labels)
			if err != nil {
				return err
			}
			f.PlanKey, f.Page = plan, l.Page()
			if since != "" {
				f.Query = sinceQuery(f, status, since)
			}
			return c.With(cmd, func(b *client.Client) error { return c.listRuns(cmd, b, f) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&status, "status", "", "only runs with these statuses, separated by commas")
	f.StringVar(&plan, "plan", "", "only runs of this plan")
	f.StringVar(&query, "filter", "", "filter, such as 'status:failed plan:invoice since:24h took:>5m'")
	f.StringVar(&view, "view", "", "only runs of a saved view (kairos views)")
	f.StringVar(&since, "since", "", "only runs since 24h, 7d, or a time")
	f.StringArrayVar(&labels, "label", nil, "only runs with label KEY=VALUE; repeatable")
	l.Add(cmd)
	return cmd
}

// listMatching lists the runs that a saved view or a filter selects.
func (c runCommands) listMatching(cmd *cobra.Command, b *client.Client, view, query string, page domain.Page) error {
	if view != "" {
		var err error
		if query, err = viewNamed(cmd, b, view); err != nil {
			return err
		}
	}
	f, problem := filter.Parse(query, time.Now())
	if problem != nil {
		return problem
	}
	f.Query, f.Page = query, page
	return c.listRuns(cmd, b, f)
}

// runFilter reads the flags --status, --since, and --label.
func runFilter(status, since string, labels []string) (f domain.RunFilter, err error) {
	if status != "" {
		for _, s := range strings.Split(status, ",") {
			if !slices.Contains(domain.RunStatuses, domain.RunStatus(s)) {
				return f, exit.Usage("unknown status %q\n  use queued, running, waiting, completed, failed, or cancelled", s)
			}
			f.Statuses = append(f.Statuses, domain.RunStatus(s))
		}
	}
	if since != "" {
		if f.Since, err = filter.Moment(since, time.Now()); err != nil {
			return f, exit.Usage("--since: %s\n  use 24h, 7d, or 2030-01-31T08:00", err)
		}
	}
	f.Labels, err = command.ParseLabels(labels)
	return f, err
}

// sinceQuery returns a filter with --since as text. A cursor is valid for one exact query, and
// "24h" is another time for each page. It is empty for a value that the grammar cannot express.
func sinceQuery(f domain.RunFilter, status, since string) string {
	terms := []string{"since:" + filter.Quote(since)}
	if status != "" {
		terms = append(terms, "status:"+status)
	}
	if f.PlanKey != "" {
		terms = append(terms, "plan:"+filter.Quote(f.PlanKey))
	}
	for _, k := range slices.Sorted(maps.Keys(f.Labels)) {
		terms = append(terms, filter.Quote("label."+k+"="+f.Labels[k]))
	}
	query := strings.Join(terms, " ")
	if got, problem := filter.Parse(query, time.Now()); problem != nil || got.PlanKey != f.PlanKey || !maps.Equal(got.Labels, f.Labels) ||
		!slices.Equal(got.Statuses, f.Statuses) {
		return ""
	}
	return query
}

// viewNamed returns the filter of a saved view. Your own views take precedence over shared ones.
func viewNamed(cmd *cobra.Command, b *client.Client, name string) (string, error) {
	list, err := b.Views(cmd.Context())
	if err != nil {
		return "", err
	}
	found, names := "", []string{}
	for _, v := range list {
		if v.Name == name && (found == "" || v.Owner != "") {
			found = v.Query
		}
		names = append(names, v.Name)
	}
	if found == "" {
		return "", domain.Errorf(domain.CodeNotFound, "view %q not found", name).
			Suggest("%s", cmp.Or(strings.Join(names, ", "), "save a view: kairos views save NAME FILTER"))
	}
	return found, nil
}

func (c runCommands) listRuns(cmd *cobra.Command, b *client.Client, f domain.RunFilter) error {
	list, err := b.Runs(cmd.Context(), f)
	if err != nil {
		return err
	}
	items, rows := []printedRun{}, [][]string{}
	for _, r := range list.Items {
		items = append(items, printRun(r))
		what := string(r.Status)
		if r.WaitReason != "" {
			what += ":" + string(r.WaitReason)
		}
		rows = append(rows, []string{r.ID, what, r.PlanKey + " v" + strconv.Itoa(r.Version), startTime(r), r.Headline})
	}
	return c.ListOf(items, list.Next, []string{"RUN", "STATUS", "PLAN", "STARTED", "MESSAGE"}, rows, "no runs found")
}

// startTime returns when a run started or will start.
func startTime(r domain.Run) string {
	switch {
	case !r.StartedAt.IsZero():
		return cli.Stamp(r.StartedAt)
	case r.StartAt.After(time.Now()):
		return "starts " + cli.Stamp(r.StartAt)
	}
	return "not yet"
}
