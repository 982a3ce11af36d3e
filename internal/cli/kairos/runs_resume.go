package kairos

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
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
  waiting for budget    prints the limit; raise it with "kairos runs limits"
  scheduled             starts now, with --now
  quarantined, held     releases the run, with --release
  in doubt, approval    changes nothing, and prints the command to use

It prints a preview and asks for confirmation. Without a terminal it requires --yes.
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
		if a.req.Attempts < 0 || a.req.Timeout < 0 {
			return exit.Usage("--attempts and --timeout must not be negative")
		}
		if a.many.asked(args) {
			if release {
				a.req.Action = domain.ActionRelease
			}
			return one(cmd, args)
		}
		return c.with(cmd, func(b *client.Client) error {
			if err := canDetach(b, a.detach); err != nil {
				return err
			}
			r, err := findRun(cmd.Context(), b, args[0])
			if err != nil {
				return err
			}
			return c.resume(cmd, b, a, r, release, now)
		})
	}
	f := cmd.Flags()
	f.BoolVar(&release, "release", false, "release a quarantined or held run")
	f.BoolVar(&now, "now", false, "start a scheduled run now")
	f.StringVar(&a.req.Only, "only", "", "STEP or STEP#ITERATION: run only this failed step, then pause the run")
	f.DurationVar(&a.req.Timeout, "timeout", 0, "timeout of the steps that run again, this once")
	f.IntVar(&a.req.Attempts, "attempts", 0, "attempts of the steps that run again, this once")
	addYes(cmd, &a.yes)
	return cmd
}

// resume continues a run by the action that its state needs.
func (c runCommands) resume(cmd *cobra.Command, b *client.Client, a *action, r domain.Run, release, now bool) error {
	ctx := cmd.Context()
	v, err := b.View(ctx, r.ID)
	if err != nil {
		return err
	}
	a.req.Run, c.seen = r.ID, r.LastSeq
	a.req.Action = domain.ActionResume // of a damaged run, the preview describes the damage
	if v.Damage == nil {
		if a.req.Action, err = resumption(r, v.Waits, release, now, time.Now()); err != nil {
			return err
		}
	}
	p, err := b.Preview(ctx, a.req)
	if err != nil {
		return err
	}
	if a.preview && c.json {
		return c.Print(p)
	}
	if !p.Allowed && !a.preview {
		refusal := domain.NewError(domain.CodeConflict, p.Refusal, p.Suggestion)
		if r.WaitReason == domain.WaitBudget {
			return exit.Advise(
				refusal,
				fmt.Sprintf("raise it: kairos runs limits %s --max-tokens +N | --max-cost +N | --max-duration +TIME "+
					"| --max-steps +N", domain.ShortID(r.ID)),
			)
		}
		return refusal
	}
	if !c.json {
		c.printPreview(p)
	}
	if a.preview {
		return nil
	}
	if err := c.confirmResume(a.yes, "Resume run %s?", domain.ShortID(r.ID)); err != nil {
		return err
	}
	a.req.Digest, a.req.Rev = p.Digest, p.Rev
	if r, err = b.Act(ctx, a.req); err != nil {
		return err
	}
	if a.detach {
		return c.stands(r)
	}
	return c.follow(ctx, b, r)
}

// resumption is the action that resumes a run, by the first of its states that
// matches. An error names the command that the run needs instead.
func resumption(r domain.Run, waits []domain.Wait, release, now bool, at time.Time) (domain.Action, error) {
	short := domain.ShortID(r.ID)
	waiting := func(reason domain.WaitReason) (domain.Wait, bool) {
		i := slices.IndexFunc(waits, func(w domain.Wait) bool { return w.Reason == reason })
		if i < 0 {
			return domain.Wait{}, r.WaitReason == reason
		}
		return waits[i], true
	}
	parkedFor := domain.WaitReason("")
	for _, reason := range []domain.WaitReason{domain.WaitQuarantined, domain.WaitHeld} {
		if _, ok := waiting(reason); ok && parkedFor == "" {
			parkedFor = reason
		}
	}
	switch {
	case release && parkedFor != "":
		return domain.ActionRelease, nil // also with an open approval, which stays open
	case release:
		return "", exit.Usage("run %s is neither quarantined nor held\n  run the command without --release", short)
	}
	if w, ok := waiting(domain.WaitInDoubt); ok {
		return "", domain.Errorf(domain.CodeConflict, "step %s of run %s is in doubt: its outcome is unknown", w.Node, short).
			Suggest("check whether it happened, then: kairos runs resolve %s %s --happened OUTPUT | --retry | --skip | --fail", short, w.Node)
	}
	if w, ok := waiting(domain.WaitApproval); ok {
		return "", domain.Errorf(domain.CodeConflict, "run %s waits for an approval: %s", short, w.Message).
			Suggest("kairos approve %s, or kairos reject %s", w.Approval, w.Approval)
	}
	if parkedFor != "" {
		return "", domain.Errorf(domain.CodeConflict, "run %s is %s: %s", short, parkedFor,
			parked[parkedFor]).Suggest("kairos resume %s --release", short)
	}
	scheduled := r.Status == domain.RunQueued && r.StartedAt.IsZero() && r.StartAt.After(at)
	if now && !scheduled {
		return "", exit.Usage("run %s is not scheduled\n  run the command without --now", short)
	}
	if r.Paused {
		return domain.ActionContinue, nil
	}
	if _, ok := waiting(domain.WaitBudget); ok {
		return domain.ActionResume, nil // it is possible if a price was missing; otherwise the refusal names the limit
	}
	if _, ok := waiting(domain.WaitRetry); ok {
		return domain.ActionRetryNow, nil
	}
	if scheduled {
		if !now {
			return "", domain.Errorf(domain.CodeConflict, "run %s is scheduled for %s", short, cli.Stamp(r.StartAt)).
				Suggest("kairos resume %s --now starts it now", short)
		}
		return domain.ActionStartNow, nil
	}
	return domain.ActionResume, nil
}
