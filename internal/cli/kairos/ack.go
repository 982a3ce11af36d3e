package kairos

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

// ackCommand takes note of failed runs.
func (c *program) ackCommand() *cobra.Command {
	var flags bulkFlags
	var reason, note, at string
	var preview, detach bool
	cmd := &cobra.Command{
		Short: "Take note of failed runs",
		Long: `Takes note of failed runs: they need attention no more, until they fail anew.
--note leaves a word with the run for whoever looks next, --resume-at has it resumed
at a time (by the daemon that serves the database then).
"kairos failures ack" does so for all runs that failed in one way, also those to come.`,
		Example: "  kairos ack 7qx2 --reason \"known, ticket 4711\"\n  kairos ack 7qx2 --note \"waiting for quota\" --resume-at 06:00\n  kairos ack --filter 'status:failed plan:invoice' --preview",
		RunE: func(cmd *cobra.Command, args []string) error {
			if note != "" || at != "" {
				if flags.filter != "" || preview || flags.rate != 0 {
					return exit.Usage("--note and --resume-at are for runs that are named, not with --filter, --rate or --preview")
				}
				return c.ackRuns(cmd, args, cmp.Or(note, reason), at)
			}
			req, err := flags.request(domain.ActionAck, reason)
			if err != nil {
				return err
			}
			return c.many(cmd, req, args, preview, detach)
		},
	}
	flags.add(cmd, domain.ActionAck)
	addMany(cmd, &reason, &preview, &detach)
	cmd.Flags().StringVar(&note, "note", "", "for whoever looks next; it stays with the run")
	cmd.Flags().StringVar(&at, "resume-at", "", "resume the run at this time: 06:00, 2h, or 2030-01-31T06:00")
	cmd.MarkFlagsMutuallyExclusive("note", "reason")
	return cmd
}

// ackRuns takes note of runs one by one.
func (c *program) ackRuns(cmd *cobra.Command, names []string, note, at string) error {
	var resumeAt time.Time
	if at != "" {
		var err error
		if resumeAt, err = moment("--resume-at", at, time.Now()); err != nil {
			return err
		}
	}
	return c.with(cmd, func(b *client.Client) error {
		runs := make([]domain.Run, len(names))
		for i, name := range names {
			var err error
			if runs[i], err = findRun(cmd.Context(), b, name); err != nil {
				return err
			}
		}
		items := []domain.RunView{}
		for _, r := range runs {
			r, err := b.TakeNote(cmd.Context(), r, note, resumeAt)
			if err != nil {
				return err
			}
			if items = append(items, domain.ViewRun(r)); !c.json {
				c.Printf("run %s needs attention no more\n", domain.ShortID(r.ID))
			}
		}
		if !resumeAt.IsZero() {
			c.Errorf("resumed at %s; kairos bulk lists what is to come\n", resumeAt.Local().Format("2006-01-02 15:04:05 MST"))
			if b.InProcess() {
				c.Errorf("it goes on when a daemon serves this database\n")
			}
		}
		if c.json {
			return c.Print(map[string]any{"items": items})
		}
		return nil
	})
}
