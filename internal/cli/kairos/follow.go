package kairos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/cli/journal"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner/walk"
)

// start starts a run and follows it. With detach, it only prints the id.
func (c *program) start(ctx context.Context, b *client.Client, req domain.StartRequest, detach bool) error {
	if err := canDetach(b, detach); err != nil {
		return err
	}
	r, err := b.Start(ctx, req)
	if err != nil {
		return err
	}
	if detach {
		return c.printID(r)
	}
	return c.follow(ctx, b, r)
}

// printID prints the id of a detached run.
func (c *program) printID(r domain.Run) error {
	if c.JSON {
		return c.Print(printRun(r))
	}
	c.Printf("%s\n", r.ID)
	return nil
}

// follow prints the progress of a run until it ends or waits, then its result.
func (c *program) follow(ctx context.Context, b *client.Client, r domain.Run) error {
	c.Notef("run %s of %s v%d\n", r.ID, r.PlanKey, r.Version)
	if !c.Quiet && !c.JSON {
		c.mentionDelay(ctx, b, r)
	}
	view, err := b.Follow(ctx, r.ID, func(e domain.Event) {
		if e.RunSeq == 0 || e.RunSeq > c.seen {
			c.progress(e)
		}
	})
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return c.interrupted(b, r.ID)
		}
		return c.lost(r.ID, err)
	}
	res := view.Result()
	advice := ""
	if res.Error != nil {
		if d, err := b.Detail(ctx, r.ID); err == nil {
			advice = cli.FirstLine(domain.SuggestionOf(d.Journal, res.Error.Node))
		}
	}
	return c.result(res, advice)
}

// interrupted returns the error of an interrupted command. A run in this process stops, and a run
// of a server continues.
func (c *program) interrupted(b *client.Client, run string) error {
	short := domain.ShortID(run)
	if b.InProcess() {
		return exit.With(exit.Unavailable, fmt.Errorf("interrupted\n  continue the run: %s", c.Command("resume %s", short)))
	}
	return exit.With(exit.Unavailable, fmt.Errorf("interrupted; the run continues on the server\n  follow it: %s",
		c.Command("logs %s -f", short)))
}

// lost adds the further course of the run to a connection error.
func (c *program) lost(run string, err error) error {
	if domain.CodeOf(err) != domain.CodeUnavailable {
		return err
	}
	return exit.Advise(err, "the run is stored and continues when the server runs again; follow it: "+
		c.Command("logs %s -f", domain.ShortID(run)))
}

// mentionDelay prints why a run does not start now: it is scheduled, or the server executes
// nothing.
func (c *program) mentionDelay(ctx context.Context, b *client.Client, r domain.Run) {
	if r.StartAt.After(time.Now()) && r.StartedAt.IsZero() {
		c.Notef("note: the run starts at %s; start it now: %s\n", cli.Stamp(r.StartAt), c.Command("resume %s --now", domain.ShortID(r.ID)))
	}
	if b.InProcess() {
		return
	}
	i, err := b.Server(ctx)
	if err != nil {
		return // the command will get the same error
	}
	if i.Safe != "" {
		c.Notef("note: the server is in safe mode (%s) and executes nothing; restart it without safe mode\n", i.Safe)
	}
	if i.Maintenance != nil {
		c.Notef("note: the server is in maintenance since %s; to end it, run: %s\n", cli.Stamp(i.Maintenance.Since),
			c.Command("server maintenance off"))
	}
}

// progress prints one event as a line on stderr.
func (c *program) progress(e domain.Event) {
	if c.Quiet || c.JSON {
		return
	}
	data := e.Data
	text := func(key string) string {
		if s, ok := data[key].(string); ok {
			return s
		}
		return ""
	}
	node := text("node")
	if item, ok := data["item"].(float64); ok {
		node += fmt.Sprintf("[%d]", int(item))
	}
	message := ""
	if e, ok := data["error"].(map[string]any); ok {
		message, _ = e["message"].(string)
	}
	switch e.Type {
	case "node_completed":
		c.Notef("  ok       %s\n", node)
	case "node_failed":
		c.Notef("  failed   %s: %s\n", node, message)
	case "node_retrying":
		c.Notef("  %s\n", strings.TrimSuffix("retrying "+node+": "+message, ": "))
	case "node_skipped":
		why := ""
		for _, more := range []string{text("reason"), text("detail")} {
			if more != "" {
				why += ": " + cli.FirstLine(more)
			}
		}
		c.Notef("  skipped  %s%s\n", node, why)
	case "node_waiting":
		c.Notef("  waiting  %s %s\n", node, text("reason"))
	}
}

// result prints the result of a run, with advice for a failed one, and returns its exit code.
func (c *program) result(res domain.Result, suggestion string) error {
	if c.JSON {
		if err := c.Print(res); err != nil {
			return err
		}
		return exitOf(res)
	}
	run, short := res.RunID, domain.ShortID(res.RunID)
	switch res.Status {
	case domain.RunCompleted:
		if res.Result != nil {
			c.Printf("%s\n", res.Result.AggregatedResult)
		} else {
			c.Printf("%s\n", cli.JSONText(res.Output))
		}
		c.failedSteps(run, res.FailedSteps)
	case domain.RunWaiting:
		c.Errorf("run %s waits: %s\n", run, journal.Word(string(res.WaitReason)))
		for _, w := range res.Waits {
			text := advice{c}.waitText(short, w)
			if c.temporary() { // its commands would not find the run
				text = cli.FirstLine(text) + "\n  " + endOfTemporary + "\n"
			}
			c.Errorf("%s", text)
		}
	case domain.RunFailed:
		if res.Error != nil {
			at := ""
			if res.Error.Node != "" { // a timeout of the run fails no step
				at = " at " + res.Error.Node
			}
			c.Errorf("run %s failed%s: %s (%s)\n", run, at, res.Error.Message, res.Error.Code)
			c.Errorf("%s", advice{c}.afterFailure(short, *res.Error, suggestion))
		}
	default:
		c.Errorf("run %s is %s\n", run, res.Status)
	}
	return exitOf(res)
}

// failedSteps returns the steps that failed in a run that completed.
func (c *program) failedSteps(run string, failed []domain.RunError) {
	if len(failed) == 0 {
		return
	}
	steps := "1 step"
	if len(failed) > 1 {
		steps = fmt.Sprintf("%d steps", len(failed))
	}
	c.Errorf("run %s completed, %s failed\n", run, steps)
	for _, f := range failed {
		c.Errorf("  %s: %s (%s)\n", f.Node, f.Message, f.Code)
	}
}

// endOfTemporary follows a run in a database that exists only for this command.
const endOfTemporary = "the run is not stored; fix the cause, and run the command again"

// temporary reports whether the run exists only for this command.
func (c *program) temporary() bool { return c.Memory || c.mocked }

// advice creates the texts that suggest commands.
type advice struct{ *program }

// waitText returns a line with the reason why a run waits, and lines with the commands that end the
// wait.
func (c advice) waitText(short string, w domain.Wait) string {
	message := cli.FirstLine(w.Message)
	switch {
	case w.Approval != "":
		return fmt.Sprintf("  %s requires an approval: %s\n    %s\n    %s\n", w.Node, message, c.Command("approve %s", w.Approval),
			c.Command("reject %s --comment REASON", w.Approval))
	case w.Reason == domain.WaitInDoubt:
		out := fmt.Sprintf("  %s is in doubt, its outcome is unknown: %s\n", w.Node, message)
		for _, call := range w.Calls {
			out += fmt.Sprintf("    call of %s, sent %s with the idempotency key %s: %s\n", call.Tool, cli.Stamp(call.Since),
				call.IdempotencyKey, cli.FirstLine(cli.JSONText(call.Arguments)))
		}
		return out + fmt.Sprintf("    %s\n", c.resolveCommands(short, w.Node))
	case w.Reason == domain.WaitQuarantined && w.Message != "": // its journal is damaged
		return fmt.Sprintf("  %s\n    %s\n", message, c.Command("show %s", short))
	case w.Budget != "":
		return fmt.Sprintf("  %s\n    %s\n", message, c.Command("budgets raise %s +AMOUNT", command.Quoted(w.Budget)))
	case w.Reason == domain.WaitBudget:
		return fmt.Sprintf("  %s\n    %s\n", message, c.limitCommands(short))
	case w.Reason == domain.WaitHeld, w.Reason == domain.WaitQuarantined:
		return fmt.Sprintf("  %s\n    %s\n", parked[w.Reason], c.Command("resume %s --release", short))
	case w.Reason == domain.WaitPaused:
		return fmt.Sprintf("  paused\n    %s\n", c.Command("resume %s", short))
	}
	line := "  " + journal.Word(string(w.Reason))
	if w.Node != "" {
		line += " of " + w.Node
	}
	if message != "" {
		line += ": " + message
	}
	if !w.Due.IsZero() {
		line += ", until " + cli.Stamp(w.Due)
	}
	return line + "\n"
}

// resolveCommands returns the command that resolves a step in doubt, with its options.
func (c advice) resolveCommands(short, node string) string {
	return c.Command("runs resolve %s %s", short, node) + " --happened JSON | --retry | --skip | --fail"
}

// limitCommands returns the command that raises the limits of a run, with its options.
func (c advice) limitCommands(short string) string {
	return c.Command("runs limits %s", short) + " --max-tokens +N | --max-cost +N | --max-duration +TIME | --max-steps +N"
}

// afterFailure returns a line of advice, and a line with the command that continues a failed run.
func (c advice) afterFailure(short string, e domain.RunError, advice string) string {
	next := c.Command("resume %s", short)
	switch {
	case c.temporary():
		next = endOfTemporary
	case e.Code == walk.CodeCondition: // another attempt would decide the same
		next = c.Command("fork %s --at N --edit STEP=JSON", short)
	case decidedByPlan[e.Code]: // a run keeps its version
		next = "after a change of the plan, fork the run with the newest version: " +
			c.Command("fork %s --at N --version -1", short) + "\n  " + next
	}
	if advice != "" {
		advice = "  " + advice + "\n"
	}
	if e.Code == walk.CodeNoEdge { // the advice contains the command
		return advice
	}
	return advice + "  " + next + "\n"
}

// decidedByPlan are failures that a resume repeats, unless an earlier step has another output.
var decidedByPlan = map[string]bool{walk.CodeUnresolvedReference: true, walk.CodeForeach: true, walk.CodeForeachLimit: true,
	walk.CodeMaxVisits: true, walk.CodeResult: true, walk.CodePlanFailed: true, walk.CodeInvalidInput: true}

// parked are the reasons why kairosd does not execute a run.
var parked = map[domain.WaitReason]string{
	domain.WaitHeld:        "the database was restored; the run continues after its release",
	domain.WaitQuarantined: "kairosd crashed repeatedly while this run was active",
}

// exitOf returns the exit code for the state of a run.
func exitOf(r domain.Result) error {
	switch {
	case r.Status == domain.RunFailed || r.Status == domain.RunCancelled:
		return &exit.Status{Code: exit.Failed}
	case r.Status == domain.RunWaiting && r.WaitReason.NeedsPerson():
		return &exit.Status{Code: exit.Waits}
	}
	return nil
}

// statusOf returns the status of a run with the reason of its wait.
func statusOf(r domain.Run) string {
	status := journal.Word(string(r.Status))
	if r.WaitReason != "" {
		status += " (" + journal.Word(string(r.WaitReason)) + ")"
	}
	return status
}

// printState prints the status of a run that the command does not wait for.
func (c *program) printState(r domain.Run) error {
	if c.JSON {
		return c.Print(printRun(r))
	}
	c.Printf("run %s is %s\n", r.ID, statusOf(r))
	return nil
}

// canDetach returns an error if no server would execute the run after this command.
func canDetach(b *client.Client, detach bool) error {
	if b.InProcess() && detach {
		return exit.Usage("--detach requires a server, and none has this database open\n  run kairosd serve, or omit --detach")
	}
	return nil
}
