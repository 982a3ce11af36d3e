package kairos

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner/walk"
)

// approvalsCommand is the inbox: what is asked, with the exact arguments of
// calls.
func (c approvalCommands) approvalsCommand() *cobra.Command {
	var f domain.ApprovalFilter
	var l listFlags
	overdue := false
	cmd := &cobra.Command{
		Use: "approvals", Short: "List open questions", Args: cobra.NoArgs,
		Long: `Lists what waits for a person, by deadline, then age: requests of approval steps, and
calls of tools that require approval. "kairos approvals show" prints the exact arguments
of a call.`,
		Example: "  kairos approvals\n  kairos approvals --for marta --overdue\n  kairos approvals show 7qx2\n  kairos approvals --status rejected --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.Page = l.page()
			if f.Status == "decided" {
				f.Status, f.Decided = "", true
			}
			if overdue {
				f.Overdue = time.Now()
			}
			return c.with(cmd, func(b *client.Client) error {
				list, err := b.Approvals(cmd.Context(), f)
				if err != nil {
					return err
				}
				items, rows := []asked{}, [][]string{}
				for _, p := range list.Items {
					items = append(items, viewAsked(p))
					rows = append(rows, []string{p.ID, domain.ShortID(p.Run), p.PlanKey, p.Node, p.Status, cli.Stamp(p.CreatedAt), due(p), p.Assignee, answerIDs(p), p.Message})
				}
				return c.Listed(c.json, items, list.Next, []string{"APPROVAL", "RUN", "PLAN", "STEP", "STATUS", "CREATED", "DUE", "ASSIGNEE", "ANSWERS", "REQUEST"}, rows, "no approval matches")
			})
		},
	}
	cmd.Flags().StringVar(&f.Status, "status", "open", "open, approved, rejected, asked_back, expired, cancelled, or decided for all that are not open")
	cmd.Flags().StringVar(&f.Plan, "plan", "", "only of the plan with this key")
	cmd.Flags().StringVar(&f.Agent, "agent", "", "only what this agent asks")
	cmd.Flags().StringVar(&f.For, "for", "", "only what this person is to answer, or whoever may")
	cmd.Flags().BoolVar(&overdue, "overdue", false, "only past their deadline, or without one and asked a day ago")
	l.add(cmd)
	cmd.AddCommand(c.approvalShow(), c.assignCommand())
	return cmd
}

// answerIDs are the answers that an approval takes.
func answerIDs(p domain.Approval) string {
	var ids []string
	for _, a := range p.Answers() {
		ids = append(ids, a.ID)
	}
	return strings.Join(ids, ",")
}

// due is the deadline of an approval as lists show it; empty: it has none.
func due(p domain.Approval) string {
	if p.DueAt.IsZero() {
		return ""
	}
	return cli.Stamp(p.DueAt)
}

// asked is a question as `kairos approvals --json` prints it.
type asked struct {
	ID        string          `json:"id"`
	Run       string          `json:"run"`
	Plan      string          `json:"plan"`
	Node      string          `json:"node"`
	Visit     int             `json:"visit"`
	Item      int             `json:"item"`
	Message   string          `json:"message"`
	Tool      string          `json:"tool,omitempty"`
	Arguments domain.RawJSON  `json:"arguments,omitempty"`
	Digest    string          `json:"digest"`
	Status    string          `json:"status"`
	CreatedAt time.Time       `json:"createdAt"`
	DueAt     time.Time       `json:"dueAt,omitzero"`
	Agent     string          `json:"agent,omitempty"`
	Label     string          `json:"label,omitempty"`
	Answers   []domain.Answer `json:"answers"`
	Answer    string          `json:"answer,omitempty"`
	Assignee  string          `json:"assignee,omitempty"`
	Form      domain.RawJSON  `json:"form,omitempty"`
	DecidedBy string          `json:"decidedBy,omitempty"`
	DecidedAt time.Time       `json:"decidedAt,omitzero"`
	Comment   string          `json:"comment,omitempty"`
	Values    domain.RawJSON  `json:"values,omitempty"`
}

func viewAsked(p domain.Approval) asked {
	return asked{p.ID, p.Run, p.PlanKey, p.Node, p.Visit, p.Item, p.Message, p.Tool, p.Arguments, p.Digest, p.Status, p.CreatedAt, p.DueAt, p.Agent, p.Label, p.Answers(), p.Answer, p.Assignee,
		p.Form, p.DecidedBy, p.DecidedAt, p.Comment, p.Values}
}

// approvalShow says what is asked, and where each answer leads.
func (c approvalCommands) approvalShow() *cobra.Command {
	return &cobra.Command{
		Use: "show APPROVAL", Short: "Show what is asked, and where each answer leads", Args: cobra.ExactArgs(1),
		Long: `Shows a question with its form or the exact call that it is about, and for each answer
what comes next, as far as that is known. APPROVAL is its id, or the run's id when only
one question of it is open.`,
		Example: "  kairos approvals show 7qx2\n  kairos approvals show 01jr8k2mf0aaaaaaaaaaaa7qx2 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				p, err := c.findApproval(cmd, b, args[0])
				if err != nil {
					return err
				}
				leads := []domain.Forecast{}
				if p.Status == "open" {
					if leads, err = b.Forecast(cmd.Context(), p.ID); err != nil {
						return err
					}
				}
				if c.json {
					return c.Print(struct {
						asked
						Forecast []domain.Forecast `json:"forecast"`
					}{viewAsked(p), leads})
				}
				c.Printf("approval %s of run %s\n  plan   %s, step %s\n  status %s\n  asked  %s\n", p.ID, p.Run, p.PlanKey, p.Node, p.Status, cli.Stamp(p.CreatedAt))
				for _, fact := range [][2]string{{"risk", p.Label}, {"agent", p.Agent}, {"for", p.Assignee}, {"answer", p.Answer}, {"by", p.DecidedBy}, {"why", p.Comment}} {
					if fact[1] != "" {
						c.Printf("  %-6s %s\n", fact[0], cli.FirstLine(fact[1]))
					}
				}
				if !p.DueAt.IsZero() {
					c.Printf("  due    %s, then: %s\n", cli.Stamp(p.DueAt), p.OnTimeout)
				}
				c.Printf("%s\n", p.Message)
				for _, part := range []struct {
					name string
					raw  domain.RawJSON
				}{{p.Tool, p.Arguments}, {"form", p.Form}, {"values", p.Values}} {
					if part.raw != nil {
						c.Printf("%s: %s\n", part.name, indentJSON(part.raw, ""))
					}
				}
				for _, l := range leads {
					c.Printf("%s leads to: %s\n", l.Answer, leadsTo(l))
				}
				return nil
			})
		},
	}
}

func leadsTo(f domain.Forecast) string {
	var next, effects []string
	for _, s := range f.Next {
		next = append(next, step(s))
	}
	for _, s := range f.Effects {
		effects = append(effects, step(s)+" ("+s.Effect+")")
	}
	text := strings.Join(next, ", ")
	if f.Ends != "" {
		text = strings.TrimPrefix(text+", the run ends "+string(f.Ends), ", ")
	}
	if len(effects) > 0 {
		text += "; effects ahead: " + strings.Join(effects, ", ")
	}
	if f.Note != "" {
		text = strings.TrimPrefix(text+"; "+f.Note, "; ")
	}
	return text
}

// assignCommand says who is to answer.
func (c approvalCommands) assignCommand() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use: "assign APPROVAL [NAME]", Short: "Say who is to answer", Args: cobra.RangeArgs(1, 2),
		Long:    "Gives an open question to somebody; without a name, to whoever may answer it. APPROVAL is the id that \"kairos approvals\" prints, or the run's id when only one question of it is open.",
		Example: "  kairos approvals assign 01jr8k2mf0aaaaaaaaaaaa7qx2 marta --reason \"knows the customer\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			who := ""
			if len(args) > 1 {
				who = args[1]
			}
			return c.with(cmd, func(b *client.Client) error {
				p, err := c.findApproval(cmd, b, args[0])
				if err != nil {
					return err
				}
				if p, err = b.AssignApproval(cmd.Context(), p.ID, p.Assignee, who, reason); err != nil {
					return err
				}
				if c.json {
					return c.Print(map[string]any{"id": p.ID, "assignee": p.Assignee})
				}
				if who == "" {
					c.Printf("whoever may answers %s\n", p.ID)
				} else {
					c.Printf("%s answers %s\n", cli.FirstLine(who), p.ID)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; kept in the audit log")
	return cmd
}

func (c approvalCommands) approveCommand(approve bool) *cobra.Command {
	req := domain.DecideRequest{Approve: approve}
	var values string
	var detach bool
	name, short := "approve", "Approve what runs ask for"
	if !approve {
		name, short = "reject", "Reject what runs ask for"
	}
	example := "  kairos approve 01jr8k2mf0aaaaaaaaaaaa7qx2 --comment \"checked\"\n  kairos approve 7qx2 --values '{\"amount\": 90}'\n  kairos approve 7qx2 --answer half"
	if !approve {
		example = "  kairos reject 7qx2 --comment \"too expensive\"\n  kairos reject 7qx2 --ask-back --comment \"which customer is it?\""
	}
	cmd := &cobra.Command{
		Use: name + " APPROVAL…", Short: short, Args: cobra.MinimumNArgs(1),
		Long: short + `. APPROVAL is the id that "kairos approvals" prints, or the run's id when only
one question of it is open; "kairos approvals show" says what is asked and where each
answer leads. --values fills the form, or changes what it proposes. With several, the
same answer is given to each, one after the other, and nothing is waited for.`,
		Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if cmd.Flags().Changed("values") {
				if req.Values, err = c.jsonArgument("--values", values); err != nil {
					return err
				}
			}
			return c.with(cmd, func(b *client.Client) error {
				if len(args) > 1 {
					return c.decideAll(cmd, b, req, args)
				}
				if err := canDetach(b, detach); err != nil {
					return err
				}
				p, err := c.findApproval(cmd, b, args[0])
				if err != nil {
					return err
				}
				req.Approval, req.Digest = p.ID, p.Digest // what was read is what is answered
				if r, err := b.FindRun(cmd.Context(), p.Run); err == nil {
					c.told = r.LastSeq
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
					return c.stands(r)
				}
				err = c.follow(cmd.Context(), b, r)
				if end, endErr := b.FindRun(context.WithoutCancel(cmd.Context()), a.Run); endErr == nil && endedBy(end, a) {
					return nil // the run ended as asked
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&req.Comment, "comment", "", "why")
	if approve {
		cmd.Flags().StringVar(&req.Answer, "answer", "", "id of one of the answers that the plan declares (see kairos approvals)")
	} else {
		cmd.Flags().BoolVar(&req.AskBack, "ask-back", false, "no answer yet: the agent that asks reads the comment, goes on, and may ask again")
	}
	cmd.Flags().StringVar(&values, "values", "", "values of the form as JSON, or @FILE")
	cmd.Flags().BoolVar(&detach, "detach", false, "do not wait for the run (with a daemon)")
	return cmd
}

// endedBy reports whether a run failed by the rejection of a request.
func endedBy(r domain.Run, a domain.Approval) bool {
	return r.Status == domain.RunFailed && a.Status == "rejected" && r.Error != nil && r.Error.Code == walk.CodeRejected && r.Error.Node == a.Node
}

// decideAll gives the same answer to several questions; one that cannot be answered
// does not keep the others from it.
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
			answers, rows = append(answers, answer{ID: name, Error: err.Error()}), append(rows, []string{name, "", "not answered: " + err.Error()})
			continue
		}
		answers, rows = append(answers, answer{p.ID, p.Run, p.Status, ""}), append(rows, []string{p.ID, domain.ShortID(p.Run), p.Status})
	}
	if c.json {
		if err := c.Print(map[string]any{"items": answers}); err != nil {
			return err
		}
	} else {
		c.Table([]string{"APPROVAL", "RUN", "ANSWER"}, rows)
	}
	if refused > 0 {
		return exit.With(exit.BadUsage, fmt.Errorf("%d of %d were not answered", refused, len(names)))
	}
	return nil
}

// findApproval takes an approval's id, or a run's with one open question.
func (c approvalCommands) findApproval(cmd *cobra.Command, b *client.Client, id string) (p domain.Approval, err error) {
	if p, err = b.Approval(cmd.Context(), id); err == nil || domain.CodeOf(err) != domain.CodeNotFound && domain.CodeOf(err) != domain.CodeInvalid {
		return p, err
	}
	r, err := b.FindRun(cmd.Context(), id)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound:
		return p, domain.Errorf(domain.CodeNotFound, "no approval and no run %q", id).Suggest("kairos approvals lists what is open")
	case err != nil:
		return p, err
	}
	list, err := b.Approvals(cmd.Context(), domain.ApprovalFilter{Run: r.ID, Status: "open"})
	if err != nil {
		return p, err
	}
	if len(list.Items) != 1 {
		return p, domain.Errorf(domain.CodeConflict, "run %s has %d open questions", domain.ShortID(r.ID), len(list.Items)).
			Suggest("give the approval's id: kairos show %s", domain.ShortID(r.ID))
	}
	return list.Items[0], nil
}
