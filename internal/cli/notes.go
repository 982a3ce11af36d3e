package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/bundle"
	"github.com/kairosd/kairosd/internal/kairos"
)

func (c *app) noteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "note RUN [TEXT...]", Short: "Write a note about a run, or print its notes", Args: cobra.MinimumNArgs(1),
		Long: `Keeps a note with a run for whoever looks at it next: it is shown on the run's page and by kairos show.
Without TEXT the run's notes are printed.`,
		Example: "  kairos note 7qx2 'waiting for quota, resume after 06:00'\n  kairos note 7qx2",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b backend) error {
				r, err := findRun(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				if len(args) > 1 {
					if _, err := kairos.CheckNote(strings.Join(args[1:], " ")); err != nil {
						return err
					}
					n, err := b.AddNote(cmd.Context(), c.actor(), r.ID, strings.Join(args[1:], " "))
					if err != nil {
						return err
					}
					if c.json {
						return c.print(n)
					}
					c.printf("kept with run %s\n", kairos.ShortID(r.ID))
					return nil
				}
				notes, err := b.Notes(cmd.Context(), r.ID)
				if err != nil {
					return err
				}
				if c.json {
					return c.print(map[string]any{"items": append([]kairos.Note{}, notes...)})
				}
				c.showNotes(notes)
				return nil
			})
		},
	}
}

func (c *app) showNotes(notes []kairos.Note) {
	for _, n := range notes {
		c.printf("note %s by %s: %s\n", n.At.Format(time.RFC3339), n.Actor, strings.ReplaceAll(n.Text, "\n", "\n  "))
	}
}

func (c *app) exportCommand() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "export RUN", Short: "Pack everything that is known of a run into one file", Args: cobra.ExactArgs(1),
		Long: `Writes the run, its plan, journal, decisions, conversation and notes into a tar archive compressed with Zstandard,
for a ticket or for whoever wrote the plan. Secrets are masked. The file must not exist.`,
		Example: "  kairos export 7qx2\n  kairos export 7qx2 --output - | tar --zstd -t",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b backend) error {
				r, err := findRun(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				packed, err := bundle.Read(cmd.Context(), b, r.ID)
				if err != nil {
					return err
				}
				if to == "-" {
					return packed.Write(cmd.OutOrStdout())
				}
				name := to
				if name == "" {
					name = bundle.Name(r.ID)
				}
				f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
				if err != nil {
					return usage("cannot write the export: %w", err)
				}
				if err := packed.Write(f); err != nil {
					f.Close()
					return fmt.Errorf("write the export: %w", err)
				}
				if err := f.Close(); err != nil {
					return fmt.Errorf("write the export: %w", err)
				}
				if c.json {
					return c.print(map[string]string{"file": name})
				}
				c.printf("%s\n", name)
				return nil
			})
		},
	}
	cmd.Flags().StringVarP(&to, "output", "o", "", "the file to write; -: standard output (default run-RUN.tar.zst)")
	return cmd
}
