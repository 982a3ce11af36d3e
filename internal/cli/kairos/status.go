package kairos

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/cli/incoming"
	"github.com/kairosd/kairosd/internal/cli/journal"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

// statusRows is the maximum number of rows of each list.
const statusRows = 10

// needs contains everything that needs attention, as "kairos status --json" prints it.
type needs struct {
	Active    []printedRun          `json:"active"`
	Approvals []apitypes.Approval   `json:"approvals"`
	Waiting   []printedRun          `json:"waiting"`
	InDoubt   []doubt               `json:"inDoubt"`
	Failures  []domain.FailureGroup `json:"failures"`
	Missed    []apitypes.Schedule   `json:"missed"`         // schedules with missed slots to decide about
	Safe      string                `json:"safe,omitempty"` // the reason for safe mode
	// Maintenance is nil unless the server is in maintenance.
	Maintenance *domain.Maintenance `json:"maintenance,omitempty"`
	// Workers are the problems of the workers of Temporal.
	Workers []string `json:"workers,omitempty"`
}

// doubt is a step in doubt of a run in which other steps still run.
type doubt struct {
	RunID string `json:"runId"`
	Plan  string `json:"plan"`
	Step  string `json:"step"`
}

func (c statusCommands) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show what needs attention", Args: cobra.NoArgs,
		Long: `Shows what needs attention: pending approvals, runs that wait for a person, steps in
doubt, failed runs that are not acknowledged, and missed slots of schedules, each with a
command. It also shows safe mode and maintenance, in which no run starts, and missing
workers of Temporal. It prints at most 10 rows of each kind, and the number of active
runs.`,
		Example: "  kairos status\n  kairos status --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.With(cmd, func(b *client.Client) error {
				n, err := c.needs(cmd, b)
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(n)
				}
				c.show(n)
				return nil
			})
		},
	}
}

// needs reads everything that needs attention.
func (c statusCommands) needs(cmd *cobra.Command, b *client.Client) (needs, error) {
	n := needs{Active: []printedRun{}, Approvals: []apitypes.Approval{}, Waiting: []printedRun{}, InDoubt: []doubt{},
		Failures: []domain.FailureGroup{}, Missed: []apitypes.Schedule{}}
	if !b.InProcess() { // without a server, there is no hold
		server, err := b.Server(cmd.Context())
		if err != nil {
			return n, err
		}
		n.Safe, n.Maintenance = server.Safe, server.Maintenance
		if server.Workers != nil {
			n.Workers = server.Workers.Problems
		}
	}
	missed, _, err := b.Schedules(cmd.Context(), domain.ScheduleFilter{State: "missed", Page: domain.Page{Limit: statusRows}})
	if err != nil {
		return n, err
	}
	n.Missed = append(n.Missed, missed...)
	approvals, err := b.Approvals(cmd.Context(), domain.ApprovalFilter{Status: "pending", Page: domain.Page{Limit: statusRows}})
	if err != nil {
		return n, err
	}
	for _, a := range approvals.Items {
		n.Approvals = append(n.Approvals, apitypes.ApprovalOf(a))
	}
	waiting, err := b.Runs(cmd.Context(), domain.RunFilter{Statuses: []domain.RunStatus{domain.RunWaiting},
		WaitReasons: []domain.WaitReason{domain.WaitQuarantined, domain.WaitHeld, domain.WaitPaused, domain.WaitInDoubt,
			domain.WaitBudget}, Page: domain.Page{Limit: statusRows}})
	if err != nil {
		return n, err
	}
	for _, r := range waiting.Items {
		n.Waiting = append(n.Waiting, printRun(r))
	}
	failures, err := b.FailureGroups(cmd.Context(), statusRows)
	if err != nil {
		return n, err
	}
	n.Failures = append(n.Failures, failures...)
	active, err := b.Runs(cmd.Context(), domain.RunFilter{Statuses: []domain.RunStatus{domain.RunQueued, domain.RunRunning},
		Page: domain.Page{Limit: statusRows}})
	if err != nil {
		return n, err
	}
	for _, r := range active.Items {
		n.Active = append(n.Active, printRun(r))
		if r.Status != domain.RunRunning {
			continue
		}
		v, err := b.View(cmd.Context(), r.ID)
		if err != nil {
			return n, err
		}
		for _, w := range v.Waits {
			if w.Reason == domain.WaitInDoubt {
				n.InDoubt = append(n.InDoubt, doubt{r.ID, r.PlanKey, w.Node})
			}
		}
	}
	return n, nil
}

func (c statusCommands) show(n needs) {
	var rows [][]string
	if n.Safe != "" {
		rows = append(rows, []string{"safe mode", "", "", "", "nothing runs: " + n.Safe, c.Command("server status")})
	}
	if n.Maintenance != nil {
		rows = append(rows, []string{"maintenance", "", "", "", "no run starts since " + cli.Stamp(n.Maintenance.Since),
			c.Command("server maintenance off")})
	}
	for _, p := range n.Workers {
		rows = append(rows, []string{"workers", "", "", "", p, c.Command("server status")})
	}
	for _, a := range n.Approvals {
		rows = append(rows, []string{"approval", domain.ShortID(a.Run), a.Plan.Key, a.Node, a.Message,
			c.Command("approvals show %s", a.ID)})
	}
	for _, r := range n.Waiting {
		short := domain.ShortID(r.RunID)
		next := cmp.Or(map[domain.WaitReason]string{domain.WaitQuarantined: "resume %s --release", domain.WaitHeld: "resume %s --release",
			domain.WaitPaused: "resume %s", domain.WaitBudget: "runs limits %s"}[r.WaitReason], "show %s")
		rows = append(rows, []string{journal.Word(string(r.WaitReason)), short, r.Plan.Key, "", r.Headline, c.Command(next, short)})
	}
	for _, g := range n.Failures {
		run, next := domain.ShortID(g.Newest), c.Command("show %s", domain.ShortID(g.Newest))
		if g.Runs > 1 {
			run, next = command.Counted(g.Runs, "run"), c.Command("runs --filter '%s'", filterOf(g.Ref()))
		}
		rows = append(rows, []string{"failed", run, g.Plan.Key, g.Node, cmp.Or(g.Headline, g.Code), next})
	}
	for _, w := range n.InDoubt {
		rows = append(rows, []string{"in doubt", domain.ShortID(w.RunID), w.Plan, w.Step, "outcome unknown", c.Command("show %s",
			domain.ShortID(w.RunID))})
	}
	for _, s := range n.Missed {
		rows = append(rows, []string{"missed", "", s.Plan.Key, "", incoming.MissedText(*s.Missed),
			c.Command("schedules decide %s none|last|all", command.Quoted(s.Key))})
	}
	c.Table([]string{"STATUS", "RUN", "PLAN", "STEP", "MESSAGE", "COMMAND"}, rows)
	if len(rows) == 0 {
		c.Printf("nothing needs attention\n")
	}
	active := strconv.Itoa(len(n.Active))
	if len(n.Active) == statusRows {
		active = fmt.Sprintf("%d or more", statusRows)
	}
	c.Notef("active runs: %s\n", active)
}
