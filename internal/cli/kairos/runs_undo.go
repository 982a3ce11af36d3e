package kairos

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

// undoCommand undoes the completed steps of a run.
func (c runCommands) undoCommand() *cobra.Command {
	a := &action{req: domain.ActionRequest{Action: domain.ActionUndo}}
	cmd := &cobra.Command{
		Use: "undo RUN", Short: "Undo the completed steps of a run", Args: cobra.ExactArgs(1),
		Long: `Starts a run that calls the "undo" of each completed step, the newest first. The run must
have ended, and no step may be in doubt. It prints the calls, and requires a confirmation.
An undo that fails is a failed run: resume it to continue with the rest.`,
		Example: "  kairos runs undo 7qx2 --preview\n  kairos runs undo 7qx2 --skip charge#1 --reason \"order cancelled\"",
	}
	f := cmd.Flags()
	f.StringVar(&a.req.Reason, "reason", "", "reason, for the audit log")
	f.BoolVar(&a.detach, "detach", false, "do not wait for the run (requires a server)")
	f.BoolVar(&a.preview, "preview", false, "only print a preview")
	f.StringArrayVar(&a.req.Skip, "skip", nil,
		"STEP, STEP#ITERATION, or STEP#ITERATION[ITEM]: leave it as it is; repeatable")
	command.AddYes(cmd, &a.yes)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.With(cmd, func(b *client.Client) error { return c.undo(cmd, b, a, args[0]) })
	}
	return cmd
}

// undo previews an undo, and starts exactly that.
func (c runCommands) undo(cmd *cobra.Command, b *client.Client, a *action, name string) error {
	ctx := cmd.Context()
	if err := canDetach(b, a.detach); err != nil {
		return err
	}
	r, err := command.FindRun(ctx, b, name)
	if err != nil {
		return err
	}
	a.req.Run = r.ID
	p, err := b.Preview(ctx, a.req)
	switch {
	case err != nil:
		return err
	case a.preview && c.JSON:
		return c.Print(p)
	case !p.Allowed && !a.preview:
		return domain.NewError(domain.CodeConflict, p.Refusal, p.Suggestion)
	}
	if !c.JSON {
		c.printPreview(p)
	}
	if a.preview {
		return nil
	}
	if err := c.confirmResume(a.yes, "Undo these steps of run %s?", domain.ShortID(r.ID)); err != nil {
		return err
	}
	a.req.Digest, a.req.Rev = p.Digest, p.Rev
	undo, err := b.Act(ctx, a.req)
	if err != nil {
		return err
	}
	if a.detach {
		return c.printState(undo)
	}
	return c.follow(ctx, b, undo)
}

// printUndo prints the preview of an undo.
func printUndo(c *program, p domain.Preview) {
	c.Errorf("undo: %d calls, in this order\n", len(p.Undo))
	for i, u := range p.Undo {
		c.Errorf("  %-11d  %s: %s %s (%s)\n", i+1, stepName(u.Node, u.Visit, u.Item), cmp.Or(u.Target, u.Type),
			command.ValueLine(u.Input), u.Effect)
	}
	for _, s := range p.Keep {
		c.Errorf("  %-11s  %s: %s\n", "kept", step(s), s.Reason)
	}
	for _, s := range p.Later {
		c.Errorf("  %-11s  %s: %s\n", "later", step(s), s.Reason)
	}
}

// printUndos prints what undid steps of a run.
func printUndos(c *program, undos []domain.UndoRun) {
	for _, u := range undos {
		c.Printf("undone by run %s (%s), started by %s at %s\n", u.ID, u.Status, u.Actor, cli.Stamp(u.CreatedAt))
		for _, s := range u.Steps {
			at := ""
			if !s.EndedAt.IsZero() {
				at = " at " + cli.Stamp(s.EndedAt)
			}
			c.Printf("  %s: %s%s\n", stepName(s.Node, s.Visit, s.Item), s.Status, at)
		}
	}
}
