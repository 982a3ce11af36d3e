package kairos

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

// action holds what actions on one run, or with --filter on many, share.
type action struct {
	req             domain.ActionRequest
	many            bulkFlags
	preview, detach bool
	yes             bool // a resume is confirmed
}

// command creates the command of an action. prepare reads the flags for one run, before the command
// connects.
func (a *action) command(c runCommands, cmd *cobra.Command, prepare func(cmd *cobra.Command, args []string) error) *cobra.Command {
	f := cmd.Flags()
	f.StringVar(&a.req.Reason, "reason", "", "reason, for the audit log")
	f.BoolVar(&a.detach, "detach", false, "do not wait for the run (requires a server)")
	f.BoolVar(&a.preview, "preview", false, "only print a preview")
	if a.req.Action != domain.ActionFork {
		cmd.Use = string(a.req.Action)
		a.many.add(cmd, a.req.Action)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if a.many.requested(args) {
			return c.manyOf(cmd, a, args)
		}
		if prepare != nil {
			if err := prepare(cmd, args); err != nil {
				return err
			}
		}
		return c.With(cmd, func(b *client.Client) error {
			if err := canDetach(b, a.detach && executes(a.req.Action)); err != nil {
				return err
			}
			r, err := command.FindRun(cmd.Context(), b, args[0])
			if err != nil {
				return err
			}
			a.req.Run = r.ID
			if a.req.Action != domain.ActionRerun && a.req.Action != domain.ActionFork {
				c.seen = r.LastSeq
			}
			return c.act(cmd, b, a)
		})
	}
	return cmd
}

// manyOf starts a bulk operation. It refuses flags that apply to one run.
func (c runCommands) manyOf(cmd *cobra.Command, a *action, args []string) error {
	for _, flag := range []string{"input", "version", "profile", "only", "timeout", "attempts"} {
		if f := cmd.Flags().Lookup(flag); f != nil && f.Changed {
			return exit.Usage("--%s applies to one run, now", flag)
		}
	}
	req, err := a.many.request(a.req.Action, a.req.Reason)
	if err != nil {
		return err
	}
	return c.many(cmd, req, args, manyOptions{preview: a.preview, detach: a.detach, yes: a.yes})
}

// act previews an action, performs exactly that, and follows the run.
func (c runCommands) act(cmd *cobra.Command, b *client.Client, a *action) error {
	ctx := cmd.Context()
	if a.preview || a.req.Action != domain.ActionPause && a.req.Action != domain.ActionDelete {
		p, err := b.Preview(ctx, a.req)
		if err != nil {
			return err
		}
		if a.preview && c.JSON {
			return c.Print(p)
		}
		if !p.Allowed && !a.preview {
			return domain.NewError(domain.CodeConflict, p.Refusal, p.Suggestion)
		}
		if !c.JSON {
			c.printPreview(p)
		}
		if a.preview {
			return nil
		}
		a.req.Digest, a.req.Rev = p.Digest, p.Rev
	}
	r, err := b.Act(ctx, a.req)
	if err != nil {
		return err
	}
	if executes(a.req.Action) && !a.detach {
		return c.follow(ctx, b, r)
	}
	if a.req.Action == domain.ActionDelete {
		if c.JSON {
			return c.Print(map[string]any{"id": a.req.Run, "deleted": true})
		}
		c.Printf("run %s deleted\n", a.req.Run)
		return nil
	}
	return c.printState(r)
}

func (c runCommands) cancelCommand() *cobra.Command {
	a := &action{req: domain.ActionRequest{Action: domain.ActionCancel}}
	return a.command(c, &cobra.Command{
		Short: "Cancel runs",
		Long: `Cancels runs: no step starts, and active steps are stopped. On a terminal, it requires a
confirmation.`,
		Example: "  kairos cancel 7qx2 --reason \"wrong input\"\n  kairos cancel --filter 'status:running plan:invoice' --preview",
	}, nil)
}

func (c runCommands) pauseCommand() *cobra.Command {
	a := &action{req: domain.ActionRequest{Action: domain.ActionPause}}
	return a.command(c, &cobra.Command{
		Short:   "Pause runs",
		Long:    `Pauses runs: active steps finish, and no step starts until "kairos resume".`,
		Example: "  kairos runs pause 7qx2\n  kairos runs pause --filter 'status:running plan:invoice'",
	}, nil)
}

func (c runCommands) deleteCommand() *cobra.Command {
	a := &action{req: domain.ActionRequest{Action: domain.ActionDelete}}
	return a.command(c, &cobra.Command{
		Short: "Delete finished runs",
		Long: `Removes finished runs from all lists. The journals stay until retention deletes them. On
a terminal, it requires a confirmation.`,
		Example: "  kairos runs delete 7qx2\n  kairos runs delete --filter 'status:completed plan:test' --yes",
	}, nil)
}

func (c runCommands) rerunCommand() *cobra.Command {
	a := &action{req: domain.ActionRequest{Action: domain.ActionRerun}}
	input := ""
	cmd := a.command(c, &cobra.Command{
		Short: "Start a run again with the same input",
		Long: `Starts a new run with the plan version, the profile, and the input of an earlier run.
--version -1 uses the newest version, --profile another profile, and --input another input.`,
		Example: "  kairos rerun 7qx2\n  kairos rerun 7qx2 --version -1\n" +
			"  kairos rerun --filter 'status:failed plan:invoice since:24h' --rate 60",
	}, func(cmd *cobra.Command, _ []string) error { return c.newRun(cmd, a, input) })
	addNewRun(cmd, a, &input)
	return cmd
}

func (c runCommands) forkCommand() *cobra.Command {
	a := &action{req: domain.ActionRequest{Action: domain.ActionFork}}
	input := ""
	var edits, reuse, stubs []string
	cmd := a.command(c, &cobra.Command{
		Use: "fork RUN", Short: "Start a new run from a checkpoint", Args: cobra.ExactArgs(1),
		Long: `Starts a new run that keeps the journal of another run up to --at. The outputs of kept
steps, the input, the plan version, and the profile can be replaced. The original run does
not change.`,
		Example: "  kairos fork 7qx2 --at 12 --edit 'currency=\"EUR\"'\n" +
			"  kairos fork 7qx2 --at 12 --version -1 --preview",
	}, func(cmd *cobra.Command, args []string) error {
		var err error
		for _, e := range edits {
			node, value, ok := strings.Cut(e, "=")
			if !ok {
				return exit.Usage("invalid --edit %q\n  use STEP=JSON", e)
			}
			if a.req.Edits == nil {
				a.req.Edits = map[string]domain.RawJSON{}
			}
			if a.req.Edits[node], err = c.JSONArgument("--edit", value); err != nil {
				return err
			}
		}
		if a.req.Instead, err = c.overrides(reuse, stubs); err != nil {
			return err
		}
		if !cmd.Flags().Changed("at") {
			return exit.Usage("missing flag --at SEQ: the journal position up to which the fork keeps the run\n"+
				"  kairos show %s lists the positions; --at 0 keeps nothing, as kairos rerun does", args[0])
		}
		return c.newRun(cmd, a, input)
	})
	f := cmd.Flags()
	f.Int64Var(&a.req.At, "at", 0, "journal position to keep, as kairos show prints it; 0 keeps nothing (required)")
	f.StringArrayVar(&reuse, "reuse", nil,
		"STEP, STEP#ITERATION, or STEP#ITERATION[ITEM]: use its recorded result; repeatable")
	f.StringArrayVar(&stubs, "stub", nil,
		"STEP=JSON, STEP#ITERATION=JSON, or STEP#ITERATION[ITEM]=JSON: use this result; repeatable")
	f.StringArrayVar(&edits, "edit", nil, "STEP=JSON or STEP#ITERATION=JSON: replace a kept output; repeatable")
	addNewRun(cmd, a, &input)
	return cmd
}

// newRun returns how a new run differs from the run that it is made from.
func (c runCommands) newRun(cmd *cobra.Command, a *action, input string) (err error) {
	if cmd.Flags().Changed("input") {
		if a.req.Input, err = c.JSONArgument("--input", input); err != nil {
			return err
		}
	}
	if cmd.Flags().Changed("profile") {
		profile, err := cmd.Flags().GetString("profile")
		if err != nil {
			return err
		}
		a.req.Profile = &profile
	}
	if a.req.At < 0 || a.req.Version < -1 {
		return exit.Usage("--at must not be negative; --version must be a version, 0, or -1")
	}
	return nil
}

func addNewRun(cmd *cobra.Command, a *action, input *string) {
	cmd.Flags().StringVar(input, "input", "", "new input as JSON, or @FILE")
	cmd.Flags().IntVar(&a.req.Version, "version", 0, "plan version; 0: the same, -1: the newest")
	cmd.Flags().String("profile", "", "another profile of the plan; '' means none")
}

// overrides returns the results that a fork uses instead of running steps.
func (c runCommands) overrides(reuse, stubs []string) (map[string]domain.Override, error) {
	out := map[string]domain.Override{}
	for _, node := range reuse {
		out[node] = domain.Override{Recorded: true}
	}
	for _, text := range stubs {
		node, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, exit.Usage("invalid --stub %q\n  use STEP=JSON", text)
		}
		j, err := c.JSONArgument("--stub", value)
		if err != nil {
			return nil, err
		}
		out[node] = domain.Override{Output: j}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}
