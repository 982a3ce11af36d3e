package kairos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/app/bundle"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

func (c noteCommands) noteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "note RUN [TEXT...]", Short: "Add a note to a run, or print its notes", Args: cobra.MinimumNArgs(1),
		Long: `Adds a note to a run. The page of the run and "kairos show" print it. Without TEXT,
it prints the notes of the run.`,
		Example: "  kairos runs note 7qx2 'waiting for quota, resume after 06:00'\n  kairos runs note 7qx2",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				r, err := command.FindRun(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				if len(args) > 1 {
					return c.addNote(cmd.Context(), b, r.ID, strings.Join(args[1:], " "))
				}
				notes, err := b.Notes(cmd.Context(), r.ID)
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Items(append([]domain.Note{}, notes...), "")
				}
				c.showNotes(notes)
				if len(notes) == 0 {
					c.Notef("run %s has no notes\n", domain.ShortID(r.ID))
				}
				return nil
			})
		},
	}
}

func (c noteCommands) addNote(ctx context.Context, b *client.Client, run, text string) error {
	if _, err := domain.CheckNote(text); err != nil {
		return err
	}
	n, err := b.AddNote(ctx, run, text)
	if err != nil {
		return err
	}
	return c.Done(n, "note added to run %s", domain.ShortID(run))
}

// packedRun returns a function that writes the archive of a run. The server signs the archive if
// the role permits it.
func packedRun(ctx context.Context, b *client.Client, run string) (func(io.Writer) error, error) {
	raw, err := b.ExportRun(ctx, run)
	if err == nil {
		return func(to io.Writer) error { _, err := to.Write(raw); return err }, nil
	}
	if domain.CodeOf(err) != domain.CodeForbidden {
		return nil, err
	}
	packed, err := bundle.Read(ctx, b, run)
	if err != nil {
		return nil, err
	}
	return packed.Write, nil
}

func (c runCommands) exportCommand() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "export RUN", Short: "Export a run as an archive", Args: cobra.ExactArgs(1),
		Long: `Writes the run with its plan, journal, decisions, messages, and notes into a tar archive
compressed with Zstandard. Secrets are masked. The file must not exist. The server signs
the archive, and "kairosd audit verify-export" checks the signature. Without the role
author, kairos packs the archive itself, without a signature.`,
		Example: "  kairos runs export 7qx2\n  kairos runs export 7qx2 --output - | tar --zstd -t",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				r, err := command.FindRun(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				packed, err := packedRun(cmd.Context(), b, r.ID)
				if err != nil {
					return err
				}
				if to == "-" {
					return packed(cmd.OutOrStdout())
				}
				name := to
				if name == "" {
					name = bundle.Name(r.ID)
				}
				if err := writeExport(name, packed); err != nil {
					return err
				}
				return c.Done(map[string]string{"file": name}, "%s", name)
			})
		},
	}
	cmd.Flags().StringVarP(&to, "output", "o", "", "file to write; - for stdout (default run-RUN.tar.zst)")
	return cmd
}

// writeExport writes an export to a new file.
func writeExport(name string, packed func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return exit.Usage("cannot write the export: %w", err)
	}
	if err := errors.Join(packed(f), f.Close()); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}
