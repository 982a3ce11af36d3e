package kairos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner/walk"
)

// start starts a run and follows it, or with detach prints its id.
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

// printID prints the id of a run that the command does not wait for.
func (c *program) printID(r domain.Run) error {
	if c.json {
		return c.Print(printRun(r))
	}
	c.Printf("%s\n", r.ID)
	return nil
}

// follow shows a run's progress until it stands still, then its result.
func (c *program) follow(ctx context.Context, b *client.Client, r domain.Run) error {
	c.notef("run %s of %s v%d\n", r.ID, r.PlanKey, r.Version)
	if !c.quiet && !c.json {
		c.mentionDelay(ctx, b, r)
	}
	view, err := b.Follow(ctx, r.ID, func(e domain.Event) {
		if e.RunSeq == 0 || e.RunSeq > c.seen {
			c.progress(e)
		}
	})
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return interrupted(b, r.ID)
		}
		return err
	}
	return c.result(view.Result())
}

// interrupted is the error of a command that no longer waits: a run that this process
// executes stops, a run of a server continues.
func interrupted(b *client.Client, run string) error {
	short := domain.ShortID(run)
	if b.InProcess() {
		return exit.With(exit.Unavailable, fmt.Errorf("interrupted; continue with: kairos resume %s", short))
	}
	return exit.With(exit.Unavailable, fmt.Errorf("interrupted; the run continues on the server: kairos logs %s -f", short))
}

// mentionDelay prints why a run does not start now: it is scheduled, or the daemon
// executes nothing.
func (c *program) mentionDelay(ctx context.Context, b *client.Client, r domain.Run) {
	if r.StartAt.After(time.Now()) && r.StartedAt.IsZero() {
		c.notef("note: the run starts at %s; start it now with: kairos resume %s --now\n", cli.Stamp(r.StartAt), domain.ShortID(r.ID))
	}
	if b.InProcess() {
		return
	}
	i, err := b.Server(ctx)
	if err != nil {
		return // the command itself meets the error
	}
	if i.Safe != "" {
		c.notef("note: the server is in safe mode (%s) and executes nothing; restart it without safe mode\n", i.Safe)
	}
	if i.Maintenance != nil {
		c.notef("note: the server is in maintenance since %s; the run starts when it ends: kairos server maintenance off\n",
			cli.Stamp(i.Maintenance.Since))
	}
}

// progress prints one event as a line on stderr.
func (c *program) progress(e domain.Event) {
	if c.quiet || c.json {
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
		c.notef("  ok       %s\n", node)
	case "node_failed":
		c.notef("  failed   %s: %s\n", node, message)
	case "node_retrying":
		c.notef("  retrying %s: %s\n", node, message)
	case "node_skipped":
		why := ""
		for _, more := range []string{text("reason"), text("detail")} {
			if more != "" {
				why += ": " + cli.FirstLine(more)
			}
		}
		c.notef("  skipped  %s%s\n", node, why)
	case "node_waiting":
		c.notef("  waiting  %s %s\n", node, text("reason"))
	}
}

// result prints what became of a run and gives the exit code for it.
func (c *program) result(res domain.Result) error {
	if c.json {
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
			c.Printf("%s\n", text(res.Output))
		}
		c.failedSteps(run, res.FailedSteps)
	case domain.RunWaiting:
		c.Errorf("run %s waits: %s\n", run, res.WaitReason)
		for _, w := range res.Waits {
			switch {
			case w.Approval != "":
				c.Errorf(
					"  %s asks: %s\n    kairos approve %s\n    kairos reject %s --comment WHY\n",
					w.Node,
					w.Message,
					w.Approval,
					w.Approval,
				)
			case w.Reason == domain.WaitInDoubt:
				if len(w.Calls) == 0 {
					c.Errorf("  %s is in doubt: its outcome is unknown\n", w.Node)
				}
				for _, call := range w.Calls {
					c.Errorf("  %s is in doubt: the outcome of its call of %s is unknown: %s\n", w.Node, call.Tool, text(call.Arguments))
				}
				c.Errorf("    kairos runs resolve %s %s --happened OUTPUT | --retry | --skip | --fail\n", short, w.Node)
			case w.Reason == domain.WaitQuarantined && w.Message != "": // its journal is damaged
				c.Errorf("  %s\n    kairos show %s\n", w.Message, short)
			case w.Reason == domain.WaitBudget:
				c.Errorf(
					"  %s\n    kairos runs limits %s --max-tokens +N | --max-cost +N | --max-duration +TIME | --max-steps +N\n",
					w.Message,
					short,
				)
			case w.Reason == domain.WaitHeld, w.Reason == domain.WaitQuarantined:
				c.Errorf("  %s\n    kairos resume %s --release\n", parked[w.Reason], short)
			default:
				c.Errorf("  %s %s %s\n", w.Reason, w.Node, w.Message)
			}
		}
	case domain.RunFailed:
		if res.Error != nil {
			next := "resume " + short
			if res.Error.Code == walk.CodeCondition { // running again decides the same
				next = "fork " + short + " --edit STEP=JSON"
			}
			c.Errorf("run %s failed at %s: %s (%s)\n  kairos %s\n", run, res.Error.Node, res.Error.Message, res.Error.Code, next)
		}
	default:
		c.Errorf("run %s is %s\n", run, res.Status)
	}
	return exitOf(res)
}

// failedSteps names the steps that failed in a run that completed all the same.
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

// parked are the reasons for which kairosd does not execute a run.
var parked = map[domain.WaitReason]string{
	domain.WaitHeld:        "the database was restored; the run continues after its release",
	domain.WaitQuarantined: "kairosd crashed repeatedly while this run was active",
}

// exitOf is the exit code that a run's state stands for.
func exitOf(r domain.Result) error {
	switch {
	case r.Status == domain.RunFailed || r.Status == domain.RunCancelled:
		return &exit.Status{Code: exit.Failed}
	case r.Status == domain.RunWaiting && r.WaitReason.NeedsPerson():
		return &exit.Status{Code: exit.Waits}
	}
	return nil
}

// stands prints the status of a run that the command does not wait for.
func (c *program) stands(r domain.Run) error {
	if c.json {
		return c.Print(printRun(r))
	}
	c.Printf("run %s is %s\n", r.ID, strings.TrimSpace(string(r.Status)+" "+string(r.WaitReason)))
	return nil
}

// canDetach returns an error if nothing would execute a run after this command
// has ended.
func canDetach(b *client.Client, detach bool) error {
	if b.InProcess() && detach {
		return exit.Usage("--detach requires a server, and none has this database open\n  run kairosd serve, or omit --detach")
	}
	return nil
}
