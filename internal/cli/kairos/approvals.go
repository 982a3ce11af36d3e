package kairos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/cli/journal"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner/walk"
)

func (c approvalCommands) group() *cobra.Command {
	return command.Group("approvals", "List and answer approval requests", c.listCommand, c.approvalShow(), c.approveCommand(true),
		c.approveCommand(false), c.assignCommand())
}

// approvalStates are the statuses that --status accepts.
var approvalStates = []string{"pending", "approved", "rejected", "changes_requested", "expired", "cancelled", "decided"}

// approvalState returns the text of a status.
func approvalState(status string) string {
	return strings.ReplaceAll(status, "_", " ")
}

// listCommand lists approval requests with the exact arguments of calls.
func (c approvalCommands) listCommand() *cobra.Command {
	var f domain.ApprovalFilter
	var l command.ListFlags
	overdue := false
	cmd := &cobra.Command{
		Use: "list", Short: "List pending approvals", Args: cobra.NoArgs,
		Long: `Lists approval requests of approval steps, and of tool calls that require an approval,
by deadline and age. "kairos approvals show" prints the exact arguments of a call.`,
		Example: "  kairos approvals\n  kairos approvals --for marta --overdue\n  kairos approvals show 7qx2\n" +
			"  kairos approvals --status rejected --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.Page = l.Page()
			if !slices.Contains(approvalStates, f.Status) {
				return exit.Usage("unknown status %q\n  use %s", f.Status, strings.Join(approvalStates, ", "))
			}
			if f.Status == "decided" {
				f.Status, f.Decided = "", true
			}
			if overdue {
				f.Overdue = time.Now()
			}
			return c.With(cmd, func(b *client.Client) error {
				list, err := b.Approvals(cmd.Context(), f)
				if err != nil {
					return err
				}
				items, rows := []apitypes.Approval{}, [][]string{}
				for _, p := range list.Items {
					items, rows = append(items, apitypes.ApprovalOf(p)), append(rows, approvalRow(p))
				}
				return c.ListOf(items, list.Next, []string{"APPROVAL", "RUN", "PLAN", "STEP", "STATUS", "CREATED", "DUE", "ASSIGNEE",
					"ANSWERS", "REQUEST"}, rows, "no approvals found")
			})
		},
	}
	cmd.Flags().StringVar(&f.Status, "status", "pending", strings.Join(approvalStates, ", ")+" (all but pending)")
	cmd.Flags().StringVar(&f.Plan, "plan", "", "only requests of this plan")
	cmd.Flags().StringVar(&f.Agent, "agent", "", "only requests of this agent")
	cmd.Flags().StringVar(&f.For, "for", "", "only requests that this user can answer")
	cmd.Flags().BoolVar(&overdue, "overdue", false, "only requests past their deadline, or older than a day without one")
	l.Add(cmd)
	return cmd
}

func approvalRow(p domain.Approval) []string {
	return []string{p.ID, domain.ShortID(p.Run), p.PlanKey, p.Node, approvalState(p.Status), cli.Stamp(p.CreatedAt),
		due(p), p.Assignee, answerIDs(p), p.Message}
}

// answerIDs returns the ids of the answers to an approval.
func answerIDs(p domain.Approval) string {
	var ids []string
	for _, a := range p.Answers() {
		ids = append(ids, a.ID)
	}
	return strings.Join(ids, ",")
}

// due returns the deadline of an approval for a list, or "" if there is none.
func due(p domain.Approval) string {
	if p.DueAt.IsZero() {
		return ""
	}
	return cli.Stamp(p.DueAt)
}

// approvalShow shows a request and the predicted steps of each answer.
func (c approvalCommands) approvalShow() *cobra.Command {
	return &cobra.Command{
		Use: "show APPROVAL", Short: "Show an approval request", Args: cobra.ExactArgs(1),
		Long: `Shows an approval request with its form or its exact call, and the predicted next steps
of each answer. APPROVAL is the id of the request. It can be the id of the run if only
one request of the run is pending.`,
		Example: "  kairos approvals show 7qx2\n  kairos approvals show 01jr8k2mf0aaaaaaaaaaaa7qx2 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				p, err := c.findApproval(cmd, b, args[0])
				if err != nil {
					return err
				}
				leads := []domain.Prediction{}
				if p.Status == "pending" {
					if leads, err = b.Prediction(cmd.Context(), p.ID); err != nil { // the request can be shown without them
						c.Notef("note: the next steps cannot be predicted: %s\n", err)
						leads = []domain.Prediction{}
					}
				}
				if c.JSON {
					return c.Print(struct {
						apitypes.Approval
						Predictions []domain.Prediction `json:"predictions"`
					}{apitypes.ApprovalOf(p), leads})
				}
				c.show(p, leads)
				return nil
			})
		},
	}
}

// show prints a request, the predicted steps of each answer, and the commands that answer it.
func (c approvalCommands) show(p domain.Approval, leads []domain.Prediction) {
	deadline := due(p)
	if deadline != "" && p.OnTimeout != "" {
		deadline += ", then " + p.OnTimeout
	}
	c.Facts("approval "+p.ID, [][2]string{{"run", p.Run}, {"plan", p.PlanKey}, {"step", p.Node}, {"status", approvalState(p.Status)},
		{"created", cli.Stamp(p.CreatedAt)}, {"due", deadline}, {"risk", p.Label}, {"agent", p.Agent}, {"assignee", p.Assignee},
		{"answer", p.Answer}, {"answered by", p.DecidedBy}, {"comment", p.Comment}, {"request", p.Message}})
	for _, part := range []struct {
		name string
		raw  domain.RawJSON
	}{{p.Tool, p.Arguments}, {"form", p.Form}, {"values", p.Values}} {
		if part.raw != nil {
			c.Printf("%s: %s\n", part.name, command.IndentJSON(part.raw, ""))
		}
	}
	for _, l := range leads {
		c.Printf("%s → %s\n", journal.Word(l.Answer), leadsTo(l))
	}
	if p.Status == "pending" {
		c.Printf("%s", c.answerCommands(p))
	}
}

// answerCommands returns a line with the command for each answer to a request.
func (c approvalCommands) answerCommands(p domain.Approval) (out string) {
	for _, a := range p.Answers() {
		switch {
		case a.Kind == domain.AnswerReject:
			out += fmt.Sprintf("  %s --comment REASON\n", c.Command("reject %s", p.ID))
		case a.Kind == domain.AnswerRequestChanges:
			out += fmt.Sprintf("  %s --request-changes --comment TEXT\n", c.Command("reject %s", p.ID))
		case a.ID == "approve":
			out += fmt.Sprintf("  %s\n", c.Command("approve %s", p.ID))
		default:
			out += fmt.Sprintf("  %s\n", c.Command("approve %s --answer %s", p.ID, a.ID))
		}
	}
	return out
}

func leadsTo(f domain.Prediction) string {
	var next, effects []string
	for _, s := range f.Next {
		next = append(next, step(s))
	}
	for _, s := range f.Effects {
		effects = append(effects, step(s)+" ("+s.Effect+")")
	}
	parts := []string{}
	if len(next) > 0 {
		parts = append(parts, strings.Join(next, ", "))
	}
	if f.Ends != "" {
		parts = append(parts, "the run ends "+string(f.Ends))
	}
	if len(effects) > 0 {
		parts = append(parts, "side effects: "+strings.Join(effects, ", "))
	}
	if f.Note != "" {
		parts = append(parts, f.Note)
	}
	return strings.Join(parts, "; ")
}

// assignCommand assigns a request to a user.
func (c approvalCommands) assignCommand() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use: "assign APPROVAL [NAME]", Short: "Assign an approval request", Args: cobra.RangeArgs(1, 2),
		Long: `Assigns an approval request to a user. Without NAME, anyone with the role can answer it.
APPROVAL is the id of the request, or of its run.`,
		Example: "  kairos approvals assign 01jr8k2mf0aaaaaaaaaaaa7qx2 marta --reason \"account manager\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			who := ""
			if len(args) > 1 {
				who = args[1]
			}
			return c.With(cmd, func(b *client.Client) error {
				p, err := c.findApproval(cmd, b, args[0])
				if err != nil {
					return err
				}
				if p, err = b.AssignApproval(cmd.Context(), p.ID, p.Assignee, who, reason); err != nil {
					return err
				}
				if c.JSON {
					return c.Print(map[string]any{"id": p.ID, "assignee": p.Assignee})
				}
				if who == "" {
					c.Printf("anyone can answer %s\n", p.ID)
				} else {
					c.Printf("%s is assigned to %s\n", p.ID, cli.FirstLine(who))
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log")
	return cmd
}

func (c approvalCommands) approveCommand(approve bool) *cobra.Command {
	req := domain.DecideRequest{Approve: approve}
	var values string
	var detach bool
	name, short := "approve", "Approve requests"
	if !approve {
		name, short = "reject", "Reject requests"
	}
	example := "  kairos approve 01jr8k2mf0aaaaaaaaaaaa7qx2 --comment \"checked\"\n" +
		"  kairos approve 7qx2 --values '{\"amount\": 90}'\n  kairos approve 7qx2 --answer half"
	if !approve {
		example = "  kairos reject 7qx2 --comment \"too expensive\"\n  kairos reject 7qx2 --request-changes --comment \"which customer?\""
	}
	cmd := &cobra.Command{
		Use: name + " APPROVAL…", Short: short, Args: cobra.MinimumNArgs(1),
		Long: short + `. APPROVAL is the id of a request, or of a run with one pending request.
"kairos approvals show" prints the request and the predicted next steps. --values fills
the form. Several requests get the same answer, and the command does not wait for their
runs.`,
		Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if cmd.Flags().Changed("values") {
				if req.Values, err = c.JSONArgument("--values", values); err != nil {
					return err
				}
			}
			return c.With(cmd, func(b *client.Client) error {
				if len(args) > 1 {
					return c.decideAll(cmd, b, req, args)
				}
				return c.decide(cmd, b, req, args[0], detach)
			})
		},
	}
	cmd.Flags().StringVar(&req.Comment, "comment", "", "comment for the run and the audit log")
	if approve {
		cmd.Flags().StringVar(&req.Answer, "answer", "", "id of an answer that the plan declares, as kairos approvals lists it")
	} else {
		cmd.Flags().BoolVar(&req.RequestChanges, "request-changes", false, "request changes: the agent gets the comment and continues")
	}
	cmd.Flags().StringVar(&values, "values", "", "values of the form as JSON, or @FILE")
	cmd.Flags().BoolVar(&detach, "detach", false, "do not wait for the run (requires a server)")
	return cmd
}

// decide answers an approval, and follows its run.
func (c approvalCommands) decide(cmd *cobra.Command, b *client.Client, req domain.DecideRequest, name string, detach bool) error {
	if err := canDetach(b, detach); err != nil {
		return err
	}
	p, err := c.findApproval(cmd, b, name)
	if err != nil {
		return err
	}
	req.Approval, req.Digest = p.ID, p.Digest // the answer applies to the request that was read
	if r, err := b.FindRun(cmd.Context(), p.Run); err == nil {
		c.seen = r.LastSeq
	}
	a, err := b.Decide(cmd.Context(), req)
	if err != nil {
		return err
	}
	r, err := b.FindRun(cmd.Context(), a.Run)
	if err != nil {
		return err
	}
	if detach {
		return c.printState(r)
	}
	err = c.follow(cmd.Context(), b, r)
	if end, endErr := b.FindRun(context.WithoutCancel(cmd.Context()), a.Run); endErr == nil && endedBy(end, a) {
		return nil // the rejection failed the run
	}
	return err
}

// endedBy reports whether a run failed by the rejection of a request.
func endedBy(r domain.Run, a domain.Approval) bool {
	return r.Status == domain.RunFailed && a.Status == "rejected" && r.Error != nil && r.Error.Code == walk.CodeRejected &&
		r.Error.Node == a.Node
}

// decideAll gives the same answer to several requests. If one cannot be answered, it continues with
// the others.
func (c approvalCommands) decideAll(cmd *cobra.Command, b *client.Client, req domain.DecideRequest, names []string) error {
	type answer struct {
		ID     string `json:"id"`
		Run    string `json:"run,omitempty"`
		Status string `json:"status,omitempty"`
		Error  string `json:"error,omitempty"`
	}
	answers, rows, refused := []answer{}, [][]string{}, 0
	for _, name := range names {
		p, err := c.findApproval(cmd, b, name)
		if err == nil {
			one := req
			one.Approval, one.Digest = p.ID, p.Digest
			p, err = b.Decide(cmd.Context(), one)
		}
		if err != nil {
			refused++
			answers, rows = append(
				answers,
				answer{ID: name, Error: err.Error()},
			), append(
				rows,
				[]string{name, "", "failed: " + err.Error()},
			)
			continue
		}
		answers, rows = append(answers, answer{p.ID, p.Run, p.Status, ""}),
			append(rows, []string{p.ID, domain.ShortID(p.Run), approvalState(p.Status)})
	}
	if c.JSON {
		if err := c.Items(answers, ""); err != nil {
			return err
		}
	} else {
		c.Table([]string{"APPROVAL", "RUN", "STATUS"}, rows)
	}
	if refused > 0 {
		return exit.With(exit.BadUsage, fmt.Errorf("%d of %d requests were not answered", refused, len(names)))
	}
	return nil
}

// findApproval finds an approval by its id, or by the id of a run with one pending approval.
func (c approvalCommands) findApproval(cmd *cobra.Command, b *client.Client, id string) (p domain.Approval, err error) {
	if p, err = b.Approval(cmd.Context(), id); err == nil || domain.CodeOf(err) != domain.CodeNotFound &&
		domain.CodeOf(err) != domain.CodeInvalid {
		return p, err
	}
	r, err := b.FindRun(cmd.Context(), id)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound:
		return p, domain.Errorf(domain.CodeNotFound, "approval or run %q not found", id).Suggest("list pending approvals: kairos approvals")
	case err != nil:
		return p, err
	}
	list, err := b.Approvals(cmd.Context(), domain.ApprovalFilter{Run: r.ID, Status: "pending"})
	if err != nil {
		return p, err
	}
	switch short := domain.ShortID(r.ID); len(list.Items) {
	case 0:
		return p, domain.Errorf(domain.CodeConflict, "run %s has no pending approval", short).
			Suggest("see what the run needs: %s", c.Command("show %s", short))
	case 1:
		return list.Items[0], nil
	default:
		return p, domain.Errorf(domain.CodeConflict, "run %s has %d pending approvals", short, len(list.Items)).
			Suggest("use the id of an approval: %s", c.Command("approvals list"))
	}
}
