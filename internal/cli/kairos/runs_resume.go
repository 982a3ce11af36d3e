package kairos

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

func (c runCommands) resumeCommand() *cobra.Command {
	a := &action{req: domain.ActionRequest{Action: domain.ActionResume}}
	release, now := false, false
	cmd := a.command(c, &cobra.Command{
		Short: "Resume failed, cancelled, paused, or waiting runs",
		Long: `Continues a run in the state that it is in. Completed steps are kept.

  failed, cancelled     runs the failed and unfinished steps again
  paused                ends the pause
  waiting for a retry   starts the next attempt now
  waiting for budget    tries again if a shared budget is used up: it continues if the
                        budget has room now; at a limit of the run, prints the limit;
                        raise them with "kairos budgets raise" and "kairos runs limits"
  scheduled             starts now, with --now
  quarantined, held     releases the run, with --release
  in doubt, approval    changes nothing, and prints the command to use

It prints a preview and requires a confirmation. Without a terminal it requires --yes.
If the run changes after the preview, nothing happens and the exit code is 2.
--not-before and --provider resume later: kairosd stores an operation, which
"kairos operations" lists.`,
		Example: "  kairos resume 7qx2 --preview\n  kairos resume 7qx2 --yes\n" +
			"  kairos resume 7qx2 --not-before 06:00 --detach --yes\n" +
			"  kairos resume --filter 'status:failed plan:invoice since:24h' --rate 60\n" +
			"  kairos resume --filter 'status:failed error:provider_429' --provider openai --detach --yes",
	}, nil)
	one := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if release && now {
			return exit.Usage("use either --release or --now, not both")
		}
		if a.req.Attempts < 0 || a.req.Timeout < 0 {
			return exit.Usage("--attempts and --timeout must not be negative")
		}
		if a.many.requested(args) {
			switch {
			case release:
				a.req.Action = domain.ActionRelease
			case now:
				a.req.Action = domain.ActionStartNow
			}
			return one(cmd, args)
		}
		return c.With(cmd, func(b *client.Client) error {
			if err := canDetach(b, a.detach); err != nil {
				return err
			}
			return c.resume(cmd, b, a, args[0], release, now)
		})
	}
	f := cmd.Flags()
	f.BoolVar(&release, "release", false, "release a quarantined or held run")
	f.BoolVar(&now, "now", false, "start a scheduled run now")
	f.StringVar(&a.req.Only, "only", "", "STEP or STEP#ITERATION: run only this failed step, then pause the run")
	f.DurationVar(&a.req.Timeout, "timeout", 0, "timeout of the repeated steps, for this resume")
	f.IntVar(&a.req.Attempts, "attempts", 0, "attempts of the repeated steps, for this resume")
	command.AddYes(cmd, &a.yes)
	return cmd
}

// resume resumes a run in two requests: a preview, and the action with the revision and the digest
// of the preview. The server finds the run, and its state decides about the action.
func (c runCommands) resume(cmd *cobra.Command, b *client.Client, a *action, name string, release, now bool) error {
	ctx := cmd.Context()
	a.req.Run = name
	p, err := b.PreviewResume(ctx, a.req, release, now)
	if err != nil {
		return c.adviseResume(ctx, b, name, command.ListedBy(err, "list runs: kairos runs"))
	}
	if p.Run == "" { // its start data is damaged
		p.Run = name
	}
	a.req.Run, c.seen = p.Run, p.Rev
	if a.preview && c.JSON {
		return c.Print(p)
	}
	if !p.Allowed && !a.preview {
		refusal := domain.NewError(domain.CodeConflict, p.Refusal, p.Suggestion)
		if r, err := b.FindRun(ctx, p.Run); err == nil && r.WaitReason == domain.WaitBudget {
			return exit.Advise(refusal, "raise the limit: "+advice(c).limitCommands(domain.ShortID(p.Run)))
		}
		return refusal
	}
	if !c.JSON {
		c.printPreview(p)
	}
	if a.preview {
		return nil
	}
	if err := c.confirmResume(a.yes, "Resume run %s?", domain.ShortID(p.Run)); err != nil {
		return err
	}
	a.req.Rev = p.Rev
	if p.Action == domain.ActionResume {
		a.req.Digest = p.Digest
	}
	r, err := b.Resume(ctx, a.req, release, now)
	if err != nil {
		return err
	}
	if a.detach {
		return c.printState(r)
	}
	return c.follow(ctx, b, r)
}

// adviseResume adds the command that the run needs to the error of a refused resume.
func (c runCommands) adviseResume(ctx context.Context, b *client.Client, name string, err error) error {
	e, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return err
	}
	short := name // as typed, because it may be a part of the id
	switch e.Reason {
	case "not_held":
		return exit.Advise(e, "run the command without --release")
	case "not_scheduled":
		return exit.Advise(e, "run the command without --now")
	case "release":
		return exit.Advise(e, "release it: "+c.Command("resume %s --release", short))
	case "start_now":
		return exit.Advise(e, "start it now: "+c.Command("resume %s --now", short))
	case domain.ReasonInDoubt, "approval":
		v, unread := b.View(ctx, name)
		if unread != nil {
			return err
		}
		short = domain.ShortID(v.ID)
		for _, w := range v.Waits {
			switch w.Reason {
			case domain.WaitInDoubt:
				return exit.Advise(e, "check whether it happened, then: "+advice(c).resolveCommands(short, w.Node))
			case domain.WaitApproval:
				return exit.Advise(e, c.Command("approve %s", w.Approval)+"\n  "+
					c.Command("reject %s --comment REASON", w.Approval))
			}
		}
	}
	return err
}
