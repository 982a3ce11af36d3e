package kairos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/cli/journal"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

// shown is the object that `show --json` prints.
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
Each row of the journal begins with its position, for "kairos fork --at".
RUN is an id, or a unique prefix or suffix of it with at least four characters.
With --json: the run, its journal, decisions, notes, and the messages of its agents.`,
		Example: "  kairos show 7qx2\n  kairos show 7qx2 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				r, err := command.FindRun(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				d, err := b.Detail(cmd.Context(), r.ID)
				if err != nil {
					return err
				}
				conversation, err := b.Conversation(cmd.Context(), r.ID)
				if err != nil {
					return err
				}
				notes, err := b.Notes(cmd.Context(), r.ID)
				if err != nil {
					return err
				}
				status, err := b.Standing(cmd.Context(), d.Run)
				if err != nil {
					return err
				}
				return c.printRun(d, status, notes, conversation)
			})
		},
	}
}

// printRun prints a run with its journal, notes, and messages.
func (c runCommands) printRun(
	d domain.RunDetail, status domain.FailureStatus, notes []domain.Note, conversation domain.Conversation,
) error {
	if c.JSON {
		context := apitypes.ContextOf(d, nil)
		context.FailureStatus = status
		return c.Print(shown{domain.ResultOf(d), context, append([]domain.Entry{}, d.Journal...), domain.DecisionsOf(d.Journal),
			append([]domain.Note{}, notes...), conversation})
	}
	c.show(d, status)
	noteCommands(c).showNotes(notes)
	if len(conversation.Messages) > 0 {
		c.Printf("messages:\n")
		c.showMessages(conversation.Messages)
	}
	return nil
}

// acknowledgmentLines describe the acknowledgments of a failed run and of its failure group.
func (c runCommands) acknowledgmentLines(r domain.Run, s domain.FailureStatus) (out string) {
	if a := s.Acknowledged; a != nil {
		out = fmt.Sprintf("acknowledged by %s at %s", a.Actor, cli.Stamp(a.At))
		if a.Note != "" {
			out += ": " + cli.FirstLine(a.Note)
		}
		out += "\n"
	}
	if g := s.FailureGroup; g != nil && g.Runs > 1 {
		out += fmt.Sprintf("%d runs need attention because of the same failure, since %s\n  %s\n", g.Runs, cli.Stamp(g.First),
			c.Command("runs --filter '%s'", filterOf(g.Ref())))
	}
	return out
}

// show prints a run: facts, journal, result, and the commands that continue it.
func (c runCommands) show(d domain.RunDetail, status domain.FailureStatus) {
	r, short := d.Run, domain.ShortID(d.Run.ID)
	attention := ""
	if r.Attention {
		attention = "required"
	}
	c.Facts("run "+r.ID, [][2]string{{"plan", fmt.Sprintf("%s v%d", r.PlanKey, r.Version)}, {"profile", r.Profile},
		{"status", statusOf(r)},
		{"message", r.Headline}, {"attention", attention}, {"created", cli.Stamp(r.CreatedAt) + " by " + r.Actor},
		startFact(r), {"ended", endTime(r)}, {"input", command.ValueLine(r.Input)}, {"forked from", r.ForkedFrom}, {"rerun of", r.RerunOf},
		{"undoes", r.Undoes}})
	printUndos(c.program, d.Undos)
	for _, re := range domain.ReplansOf(d) {
		c.Printf("replanned after %s failed: v%d → v%d: %s\n", re.Node, re.From, re.To, cli.FirstLine(re.Reason))
		if re.Proposed {
			c.Printf("  the run continues after you accept the new version\n")
		}
		c.Printf("  %s\n", c.Command("plans diff %s %d %d", r.PlanKey, re.From, re.To))
	}
	kinds, names := journal.EventWidth, 0
	for i := range d.Journal {
		kinds = max(kinds, utf8.RuneCountInString(journal.Event(&d.Journal[i])))
		names = max(names, utf8.RuneCountInString(journal.Step(&d.Journal[i])))
	}
	for i := range d.Journal {
		c.Printf("%s\n", journal.Line(&d.Journal[i], kinds, names))
	}
	if e := failedBefore(d); e != nil {
		c.Printf("%s\n", strings.Replace(journal.Line(e, kinds, names), "   0", "   -", 1))
	}
	if d.Damage != nil {
		c.showDamage(r.ID, d.Damage)
	} else {
		for _, p := range r.Damaged {
			c.Printf("damaged: %s: %s\n", p.Part, cli.FirstLine(p.Message))
		}
	}
	for _, id := range d.BlockedBy {
		c.Printf("waits for run %s, which is active with the concurrency key %s\n", domain.ShortID(id), cli.FirstLine(r.Concurrency.Key))
	}
	for _, w := range d.WorkerWaits {
		c.Printf("%s\n", cli.FirstLine(w.Message().String()))
	}
	if len(d.Waits) > 0 {
		c.Printf("waits:\n")
	}
	for _, w := range d.Waits {
		c.Printf("%s", advice(c).waitText(short, w))
	}
	answer := ""
	if d.Plan != nil {
		answer = d.Plan.AggregatedResult
	}
	if answer != "" {
		c.Printf("answer: %s\n", answer)
	}
	if out := cli.JSONText(r.Output); r.Status == domain.RunCompleted && out != answer {
		c.Printf("output: %s\n", out)
	}
	if r.Error != nil {
		at := ""
		if r.Error.Node != "" {
			at = " at " + r.Error.Node
		}
		c.Printf("error: %s%s (%s)\n", r.Error.Message, at, r.Error.Code)
		switch {
		case len(d.Undos) > 0: // it cannot be resumed
			c.Printf("  %s\n", c.Command("rerun %s", short))
		case r.Status == domain.RunFailed:
			c.Printf("%s", advice(c).afterFailure(short, *r.Error, cli.FirstLine(domain.SuggestionOf(d.Journal, r.Error.Node))))
		}
	}
	c.Printf("%s", c.acknowledgmentLines(r, status))
}

// failedBefore returns a row for a step that failed at its condition, before it started. The
// journal has no row of it. The result is nil if there is no such step.
func failedBefore(d domain.RunDetail) *domain.Entry {
	r := d.Run
	if r.Status != domain.RunFailed || r.Error == nil || r.Error.Node == "" ||
		slices.ContainsFunc(d.Journal, func(e domain.Entry) bool { return e.Node == r.Error.Node }) {
		return nil
	}
	return &domain.Entry{
		Kind: domain.EntryResult, Node: r.Error.Node, Visit: 1, Item: -1, Status: domain.NodeFailed, At: r.EndedAt, Final: true,
		Reason: r.Error.Message,
	}
}

// startFact returns when a run started, or when it will.
func startFact(r domain.Run) [2]string {
	if r.StartedAt.IsZero() && r.StartAt.After(time.Now()) {
		return [2]string{"starts", cli.Stamp(r.StartAt)}
	}
	return [2]string{"started", startTime(r)}
}

// endTime returns when a run ended, or "" if it has not.
func endTime(r domain.Run) string {
	if r.EndedAt.IsZero() {
		return ""
	}
	return cli.Stamp(r.EndedAt)
}

func (c runCommands) logsCommand() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use: "logs RUN", Short: "Show a run's journal", Args: cobra.ExactArgs(1),
		Long: `Prints the journal of a run with the log lines of its steps. With --follow, it continues
until the run ends.`,
		Example: "  kairos logs 7qx2 -f",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				r, err := command.FindRun(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				var read journalPosition
				if err := c.journal(cmd, b, r.ID, &read); err != nil || !follow {
					return err
				}
				return c.followJournal(cmd, b, r, &read)
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue until the run ends")
	return cmd
}

// followJournal prints new rows of a journal until the run ends.
func (c runCommands) followJournal(cmd *cobra.Command, b *client.Client, r domain.Run, read *journalPosition) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	events, err := b.Subscribe(ctx, 0, r.ID)
	if err != nil {
		return err
	}
	for !r.Status.Final() {
		if _, ok := <-events; !ok {
			if cmd.Context().Err() != nil {
				return nil // interrupted by the user
			}
			return domain.Errorf(domain.CodeUnavailable, "the server closed the event stream").
				Suggest("continue: %s", c.Command("logs %s -f", domain.ShortID(r.ID)))
		}
		if err := c.journal(cmd, b, r.ID, read); err != nil {
			return err
		}
		if r, err = b.FindRun(cmd.Context(), r.ID); err != nil {
			return err
		}
	}
	return c.journal(cmd, b, r.ID, read)
}

// journalPosition is the printed part of a journal: the cursor of the last page, and the last row.
type journalPosition struct {
	cursor string
	seq    int64
}

// journal prints the rows after a position, and advances it.
func (c runCommands) journal(cmd *cobra.Command, b *client.Client, run string, read *journalPosition) error {
	rows, cursor, damage := b.JournalSince(cmd.Context(), run, read.cursor)
	if damage != nil && domain.CodeOf(damage) != domain.CodeCorrupt {
		return damage
	}
	read.cursor = cursor
	for _, e := range rows { // rows before a damaged one are valid
		if e.Seq <= read.seq {
			continue
		}
		read.seq = e.Seq
		if c.JSON {
			if err := c.Print(e); err != nil {
				return err
			}
			continue
		}
		c.Printf("%s\n", journal.Line(&e, journal.EventWidth, journal.StepWidth))
		for _, l := range domain.ReadLog(e.Log).Lines {
			c.Printf("                    %s %s\n", l.Level, l.Message)
		}
	}
	return damage
}

// showMessages prints the messages between the agents of a run.
func (c runCommands) showMessages(list []domain.AgentMessage) {
	for _, m := range list {
		context := ""
		if m.Metadata.IsPlanContext {
			context = "(context of step " + m.Metadata.StepID + ") "
		}
		at, conversation := m.Metadata.Timestamp.Format("15:04:05.000"), cli.FirstLine(cli.Clip(cli.JSONText(m.Payload), 100))
		c.Printf("%s  %-8s  %s → %s  %s%s\n", at, m.Type, m.From, m.To, context, conversation)
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
	c.Printf("  %s\n", c.Command("fork %s --at %d --preview", domain.ShortID(run), d.Checkpoint.Seq))
}

func (c noteCommands) showNotes(notes []domain.Note) {
	for _, n := range notes {
		c.Printf("note %s by %s: %s\n", cli.Stamp(n.At), n.Actor, strings.ReplaceAll(n.Text, "\n", "\n  "))
	}
}
