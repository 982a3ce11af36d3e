package kairos

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

// shown is what `show --json` prints.
type shown struct {
	domain.Result
	apitypes.RunContext
	Journal   []domain.Entry        `json:"journal"`
	Decisions []domain.DecisionView `json:"decisions"`
	Notes     []domain.Note         `json:"notes"`
	domain.Conversation
}

func (c runCommands) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show RUN", Short: "Show a run", Args: cobra.ExactArgs(1),
		Long: `Shows a run: its status, its journal in order, what it waits for, and why it failed.
Each row begins with its position, which "kairos fork --at" takes.
RUN is an id, or at least four characters that only this id begins or ends with.
With --json: the run, its journal, decisions, notes, and the messages of its agents.`,
		Example: "  kairos show 7qx2\n  kairos show 7qx2 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				r, err := findRun(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				d, err := b.Detail(cmd.Context(), r.ID)
				if err != nil {
					return err
				}
				said, err := b.Conversation(cmd.Context(), r.ID)
				if err != nil {
					return err
				}
				notes, err := b.Notes(cmd.Context(), r.ID)
				if err != nil {
					return err
				}
				stands, err := b.Standing(cmd.Context(), d.Run)
				if err != nil {
					return err
				}
				if c.json {
					if d.Journal == nil {
						d.Journal = []domain.Entry{}
					}
					context := apitypes.ContextOf(d, nil)
					context.FailureStatus = stands
					return c.Print(
						shown{
							domain.ResultOf(d),
							context,
							d.Journal,
							domain.DecisionsOf(d.Journal),
							append([]domain.Note{}, notes...),
							said,
						},
					)
				}
				c.show(d)
				c.showStanding(d.Run, stands)
				c.showNotes(notes)
				if len(said.Messages) > 0 {
					c.Printf("messages:\n")
					c.showMessages(said.Messages)
				}
				return nil
			})
		},
	}
}

// showStanding prints whether a failed run is acknowledged, and its failure group.
func (c runCommands) showStanding(r domain.Run, s domain.FailureStatus) {
	if a := s.Acknowledged; a != nil {
		c.Printf("acknowledged by %s at %s", a.Actor, cli.Stamp(a.At))
		if a.Note != "" {
			c.Printf(": %s", cli.FirstLine(a.Note))
		}
		c.Printf("\n")
	} else if r.Attention {
		c.Printf("needs attention\n")
	}
	if g := s.FailureGroup; g != nil && g.Runs > 1 {
		c.Printf("the same failure needs attention in %d runs, the first at %s: kairos runs --filter '%s'\n", g.Runs, cli.Stamp(g.First),
			filterOf(g.Ref()))
	}
}

func (c runCommands) show(d domain.RunDetail) {
	r := d.Run
	c.Printf("run %s\n  plan    %s v%d\n  status  %s", r.ID, r.PlanKey, r.Version, r.Status)
	if r.WaitReason != "" {
		c.Printf(" (%s)", r.WaitReason)
	}
	c.Printf("\n  created %s by %s\n", r.CreatedAt.Format(time.RFC3339), r.Actor)
	if !r.StartedAt.IsZero() || !r.StartAt.IsZero() {
		c.Printf("  started %s\n", startTime(r))
	}
	if r.Headline != "" {
		c.Printf("  %s\n", r.Headline)
	}
	for _, re := range domain.ReplansOf(d) {
		c.Printf("  replanned: v%d → v%d, after %s failed: %s\n", re.From, re.To, re.Node, cli.FirstLine(re.Reason))
		if re.Proposed {
			c.Printf("    the run follows it after you accept it\n")
		}
		c.Printf("    see kairos plans diff %s %d %d\n", r.PlanKey, re.From, re.To)
	}
	for _, e := range d.Journal {
		c.Printf("%s\n", line(&e))
	}
	if d.Damage != nil {
		c.showDamage(r.ID, d.Damage)
	} else {
		for _, p := range r.Damaged {
			c.Printf("damaged: %s: %s\n", p.Part, cli.FirstLine(p.Message))
		}
	}
	for _, w := range d.Waits {
		at := ""
		if w.Node != "" {
			at = " at " + w.Node
		}
		c.Printf("%s\n", strings.TrimSuffix(fmt.Sprintf("waits for %s%s: %s", w.Reason, at, cli.FirstLine(w.Message)), ": "))
		for _, call := range w.Calls {
			c.Printf("  outcome unknown: %s, sent at %s with the idempotency key %s: %s\n", call.Tool, call.Since.Format(time.RFC3339),
				call.IdempotencyKey, text(call.Arguments))
		}
	}
	answer := ""
	if d.Plan != nil {
		answer = d.Plan.AggregatedResult
	}
	if answer != "" {
		c.Printf("answer: %s\n", answer)
	}
	if r.Output != nil && text(r.Output) != answer {
		c.Printf("output: %s\n", text(r.Output))
	}
	if r.Error != nil {
		c.Printf("error: %s at %s (%s)\n", r.Error.Message, r.Error.Node, r.Error.Code)
	}
}

// line is a journal row as one line of text.
func line(e *domain.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%4d  %s", e.Seq, e.At.UTC().Format("15:04:05.000"))
	b.WriteString("  ")
	name := e.Node
	if name == "" {
		name = "run"
	}
	parts := []string{string(e.Kind), name}
	if e.Visit > 1 {
		parts = append(parts, "visit "+strconv.Itoa(e.Visit))
	}
	if e.Item >= 0 && e.Node != "" {
		parts = append(parts, "item "+strconv.Itoa(e.Item))
	}
	if e.Attempt > 1 {
		parts = append(parts, "attempt "+strconv.Itoa(e.Attempt))
	}
	if e.Status != "" {
		parts = append(parts, string(e.Status))
	}
	if e.Reason != "" {
		parts = append(parts, e.Reason)
	}
	if e.Failure != nil {
		parts = append(parts, e.Failure.Message)
	} else if e.Final && e.Output != nil {
		out := text(e.Output)
		if len([]rune(out)) > 80 {
			out = string([]rune(out)[:79]) + "…"
		}
		parts = append(parts, "→ "+strings.ReplaceAll(out, "\n", " "))
	}
	b.WriteString(strings.Join(parts, " "))
	return b.String()
}

func (c runCommands) logsCommand() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use: "logs RUN", Short: "Show a run's journal", Args: cobra.ExactArgs(1),
		Long:    "Prints the journal of a run with the log lines of its steps. With -f it continues until the run ends.",
		Example: "  kairos logs 7qx2 -f",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				r, err := findRun(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				after, err := c.journal(cmd, b, r.ID, 0)
				if err != nil || !follow {
					return err
				}
				events, err := b.Subscribe(cmd.Context(), 0, r.ID)
				if err != nil {
					return err
				}
				for !r.Status.Final() {
					if _, ok := <-events; !ok {
						if cmd.Context().Err() != nil {
							return nil // interrupted by the user
						}
						return domain.Errorf(domain.CodeUnavailable, "the server closed the event stream").
							Suggest("continue with: kairos logs %s -f", domain.ShortID(r.ID))
					}
					if after, err = c.journal(cmd, b, r.ID, after); err != nil {
						return err
					}
					if r, err = b.FindRun(cmd.Context(), r.ID); err != nil {
						return err
					}
				}
				_, err = c.journal(cmd, b, r.ID, after)
				return err
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue until the run ends")
	return cmd
}

// journal prints rows after a position and returns the new one.
func (c runCommands) journal(cmd *cobra.Command, b *client.Client, run string, after int64) (int64, error) {
	rows, damage := b.JournalPage(cmd.Context(), run, after, 0)
	if damage != nil && domain.CodeOf(damage) != domain.CodeCorrupt {
		return after, damage
	}
	for _, e := range rows { // what comes before a damaged row can be trusted
		after = e.Seq
		if c.json {
			if err := c.Print(e); err != nil {
				return after, err
			}
			continue
		}
		c.Printf("%s\n", line(&e))
		for _, l := range domain.ReadLog(e.Log).Lines {
			c.Printf("                    %s %s\n", l.Level, l.Message)
		}
	}
	return after, damage
}

// showMessages prints what a run's agents said to each other.
func (c runCommands) showMessages(list []domain.AgentMessage) {
	for _, m := range list {
		context := ""
		if m.Metadata.IsPlanContext {
			context = "(context of step " + m.Metadata.StepID + ") "
		}
		at, said := m.Metadata.Timestamp.Format("15:04:05.000"), cli.FirstLine(clip(text(m.Payload), 100))
		c.Printf("%s  %-8s  %s → %s  %s%s\n", at, m.Type, m.From, m.To, context, said)
	}
}

// showDamage prints the damaged rows of a journal, the steps after them, and how to
// continue.
func (c runCommands) showDamage(run string, d *domain.Damage) {
	if d.Row == 0 && len(d.Parts) == 0 {
		c.Printf("damaged: %s\n  restore a backup, or start a new run of the plan\n", d.Message)
		return
	}
	c.Printf("%s", damageText(d))
	if d.Row == 0 {
		return
	}
	c.Printf("  kairos fork %s --at %d --preview\n", domain.ShortID(run), d.Checkpoint.Seq)
}

func (c runCommands) showNotes(notes []domain.Note) {
	for _, n := range notes {
		c.Printf("note %s by %s: %s\n", n.At.Format(time.RFC3339), n.Actor, strings.ReplaceAll(n.Text, "\n", "\n  "))
	}
}
