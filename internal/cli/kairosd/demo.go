package kairosd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/daemon"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/demo"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

func (d *program) demoCommand() *cobra.Command {
	var idempotent bool
	var answer string
	cmd := &cobra.Command{
		Use: "demo", Short: "Kill a server and watch a run recover", Args: cobra.NoArgs,
		Long: `Starts a second kairosd with a temporary database, and a run that pays once. It kills
that kairosd with SIGKILL in the middle of the payment and starts it again. The step is
then in doubt: you answer whether the payment happened, and the run completes. A ledger
outside shows that there is one payment.

With --idempotent, the step may be repeated: the run recovers without a question.
It does not use --data and --config, and removes everything it created.`,
		Example: "  kairosd demo\n  kairosd demo --answer happened\n  kairosd demo --idempotent",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch demo.Answer(answer) {
			case "", demo.Happened, demo.Again:
			default:
				return exit.Usage("invalid --answer %q\n  use happened or again", answer)
			}
			return d.demonstrate(cmd.Context(), idempotent, demo.Answer(answer))
		},
	}
	cmd.Flags().BoolVar(&idempotent, "idempotent", false, "pay in a step that may be repeated")
	cmd.Flags().StringVar(&answer, "answer", "", "answer without a question: happened or again")
	cmd.AddCommand(&cobra.Command{
		Use: "serve DIRECTORY", Short: "Serve until the demonstration kills it", Args: cobra.ExactArgs(1), Hidden: true,
		Long:    "kairosd demo starts this command. It stops and removes DIRECTORY when its stdin ends.",
		Example: "  kairosd demo serve /tmp/kairosd-demo-1",
		RunE: func(cmd *cobra.Command, args []string) error {
			return demo.Serve(cmd.Context(), args[0], d.In, func(ctx context.Context, data datadir.Dir, config string) error {
				return daemon.Serve(ctx, daemon.Options{Dir: data, ConfigFile: config, Listen: "unix:" + filepath.Join(args[0], "web"),
					Env: func(string) string { return "" }, Out: d.Out, Err: d.Err})
			})
		},
	})
	return cmd
}

// demonstrate runs a demonstration and prints its progress.
func (d *program) demonstrate(ctx context.Context, idempotent bool, answer demo.Answer) error {
	changes := make(chan demo.State)
	following, stop := context.WithCancel(ctx)
	defer stop()
	r := demo.New(demo.Config{Changed: func(s demo.State) {
		select {
		case changes <- s:
		case <-following.Done():
		}
	}})
	defer r.Close()
	defer stop() // before Close, which waits for the last change
	if err := r.Begin("you", idempotent); err != nil {
		return err
	}
	shown, asked := 0, false
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case now := <-changes:
			for ; shown < len(now.Notes) && !d.json; shown++ {
				d.Printf("%s  %s\n", now.Notes[shown].At.Format("15:04:05.000"), now.Notes[shown].Text)
			}
			if now.Phase == demo.InDoubt && !asked {
				asked = true
				if err := d.answer(ctx, r, now, answer); err != nil {
					return err
				}
			}
			if !now.Active() {
				return d.demonstrated(now)
			}
		}
	}
}

// answer resolves a payment in doubt, by the flag or by a prompt.
func (d *program) answer(ctx context.Context, r *demo.Runner, now demo.State, answer demo.Answer) error {
	if answer != "" {
		return r.Answer(answer)
	}
	d.Printf("\n%s\n\nDid the payment happen?\n  1  It happened\n  2  It did not happen: run it again\n", ledgerLine(now))
	for lines := demo.Lines(ctx, d.In); ; {
		d.Printf("Answer 1 or 2: ")
		select {
		case line, ok := <-lines:
			switch {
			case !ok:
				d.Printf("\n")
				return domain.Errorf(domain.CodeConflict, "no answer").Suggest("pass --answer happened or --answer again")
			case line == "1":
				return r.Answer(demo.Happened)
			case line == "2":
				return r.Answer(demo.Again)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// demonstrated prints the result of a demonstration.
func (d *program) demonstrated(now demo.State) error {
	if now.Phase != demo.Completed {
		return errors.New(now.Error.String())
	}
	if d.json {
		return d.Print(map[string]any{"payments": now.Payments, "output": now.Output})
	}
	d.Printf("\n%s\nThe run completed with %s\n", ledgerLine(now), now.Output)
	return nil
}

// ledgerLine describes the content of the ledger.
func ledgerLine(now demo.State) string {
	if len(now.Payments) == 0 {
		return "The ledger is empty."
	}
	p := now.Payments[0]
	times := "once"
	if p.Calls > 1 {
		times = fmt.Sprintf("%d times", p.Calls)
	}
	return fmt.Sprintf("The ledger has %d payment: %d, receipt %s, called %s with the idempotency key %s.",
		len(now.Payments), p.Amount, p.Receipt, times, p.Key)
}
