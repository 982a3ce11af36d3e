package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/kairos"
)

// approvalsCommand is the inbox: what is asked, with the exact arguments of
// calls.
func (c *app) approvalsCommand() *cobra.Command {
	var f kairos.ApprovalFilter
	var l listFlags
	overdue := false
	cmd := &cobra.Command{
		Use: "approvals", Short: "List open questions", Args: cobra.NoArgs,
		Long:    "Lists what waits for a person, by deadline, then age: questions of approval nodes, and calls of tools that ask first, with their exact arguments.",
		Example: "  kairos approvals\n  kairos approvals --for marta --overdue\n  kairos approvals show 7qx2\n  kairos approvals --status rejected --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.Page = l.page()
			if f.Status == "decided" {
				f.Status, f.Decided = "", true
			}
			if overdue {
				f.Overdue = time.Now()
			}
			return c.with(cmd, func(b backend) error {
				list, err := b.Approvals(cmd.Context(), f)
				if err != nil {
					return err
				}
				if c.json {
					items := []asked{}
					for _, p := range list.Items {
						items = append(items, viewAsked(p))
					}
					return c.listed(items, list.Next, nil, nil, "")
				}
				for _, p := range list.Items {
					c.printf("%s  %s · %s · run %s · %s since %s\n  %s\n", p.ID, p.PlanKey, p.Node, kairos.ShortID(p.Run), p.Status, p.CreatedAt.Format(time.RFC3339), p.Message)
					if p.Tool != "" {
						c.printf("  %s %s\n", p.Tool, indentJSON(p.Arguments, "  "))
					}
				}
				if len(list.Items) == 0 {
					c.printf("nothing waits for a decision\n")
				}
				if list.Next != "" {
					c.errorf("more with --cursor %s\n", list.Next)
				}
				return nil
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

// asked is a question as `kairos approvals --json` prints it.
type asked struct {
	ID        string         `json:"id"`
	Run       string         `json:"run"`
	Plan      string         `json:"plan"`
	Node      string         `json:"node"`
	Visit     int            `json:"visit"`
	Item      int            `json:"item"`
	Message   string         `json:"message"`
	Tool      string         `json:"tool,omitempty"`
	Arguments kairos.RawJSON `json:"arguments,omitempty"`
	Digest    string         `json:"digest"`
	Status    string         `json:"status"`
	CreatedAt time.Time      `json:"createdAt"`
	DueAt     time.Time      `json:"dueAt,omitzero"`
	Agent     string         `json:"agent,omitempty"`
	Label     string         `json:"label,omitempty"`
	Assignee  string         `json:"assignee,omitempty"`
	Form      kairos.RawJSON `json:"form,omitempty"`
	DecidedBy string         `json:"decidedBy,omitempty"`
	DecidedAt time.Time      `json:"decidedAt,omitzero"`
	Comment   string         `json:"comment,omitempty"`
	Values    kairos.RawJSON `json:"values,omitempty"`
}

func viewAsked(p kairos.Approval) asked {
	return asked{p.ID, p.Run, p.PlanKey, p.Node, p.Visit, p.Item, p.Message, p.Tool, p.Arguments, p.Digest, p.Status, p.CreatedAt, p.DueAt, p.Agent, p.Label, p.Assignee,
		p.Form, p.DecidedBy, p.DecidedAt, p.Comment, p.Values}
}

// approvalShow says what is asked, and where each answer leads.
func (c *app) approvalShow() *cobra.Command {
	return &cobra.Command{
		Use: "show APPROVAL", Short: "Show what is asked, and where each answer leads", Args: cobra.ExactArgs(1),
		Long: `Shows a question with its form or the exact call that it is about, and for each answer
what comes next, as far as that is known. APPROVAL is its id, or the run's id when only
one question of it is open.`,
		Example: "  kairos approvals show 7qx2\n  kairos approvals show 01jr8k2mf0aaaaaaaaaaaa7qx2 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b backend) error {
				p, err := c.findApproval(cmd, b, args[0])
				if err != nil {
					return err
				}
				leads := []kairos.Forecast{}
				if p.Status == "open" {
					if leads, err = b.Forecast(cmd.Context(), p.ID); err != nil {
						return err
					}
				}
				if c.json {
					return c.print(struct {
						asked
						Forecast []kairos.Forecast `json:"forecast"`
					}{viewAsked(p), leads})
				}
				c.printf("approval %s of run %s\n  plan   %s, step %s\n  status %s\n  asked  %s\n", p.ID, p.Run, p.PlanKey, p.Node, p.Status, stamp(p.CreatedAt))
				for _, fact := range [][2]string{{"risk", p.Label}, {"agent", p.Agent}, {"for", p.Assignee}, {"answer", p.DecidedBy}, {"why", p.Comment}} {
					if fact[1] != "" {
						c.printf("  %-6s %s\n", fact[0], firstLine(fact[1]))
					}
				}
				if !p.DueAt.IsZero() {
					c.printf("  due    %s, then: %s\n", stamp(p.DueAt), p.OnTimeout)
				}
				c.printf("%s\n", p.Message)
				for _, part := range []struct {
					name string
					raw  kairos.RawJSON
				}{{p.Tool, p.Arguments}, {"form", p.Form}, {"values", p.Values}} {
					if part.raw != nil {
						c.printf("%s: %s\n", part.name, indentJSON(part.raw, ""))
					}
				}
				for _, l := range leads {
					c.printf("%s leads to: %s\n", l.Answer, leadsTo(l))
				}
				return nil
			})
		},
	}
}

func leadsTo(f kairos.Forecast) string {
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
func (c *app) assignCommand() *cobra.Command {
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
			return c.with(cmd, func(b backend) error {
				p, err := c.findApproval(cmd, b, args[0])
				if err != nil {
					return err
				}
				if p, err = b.AssignApproval(cmd.Context(), c.actor(), p.ID, p.Assignee, who, reason); err != nil {
					return err
				}
				if c.json {
					return c.print(map[string]any{"id": p.ID, "assignee": p.Assignee})
				}
				if who == "" {
					c.printf("whoever may answers %s\n", p.ID)
				} else {
					c.printf("%s answers %s\n", firstLine(who), p.ID)
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
func indentJSON(raw kairos.RawJSON, prefix string) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, prefix, "  ") != nil {
		return strings.ToValidUTF8(string(raw), "")
	}
	return b.String()
}
