package kairos

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

// approvalsCommand is the inbox: what is asked, with the exact arguments of
// calls.
func (c *program) approvalsCommand() *cobra.Command {
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
func (c *program) approvalShow() *cobra.Command {
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
func (c *program) assignCommand() *cobra.Command {
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

// indentJSON lays out a stored value for reading; its text is never markup or
// control sequences, because JSON escapes those.
func indentJSON(raw domain.RawJSON, prefix string) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, prefix, "  ") != nil {
		return strings.ToValidUTF8(string(raw), "")
	}
	return b.String()
}
