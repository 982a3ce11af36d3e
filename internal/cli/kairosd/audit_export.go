package kairosd

import (
	"bufio"
	"encoding/json"
	"os"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app/bundle"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/store"
)

func (d *program) auditExportCommand() *cobra.Command {
	var after int64
	var people bool
	cmd := &cobra.Command{
		Use: "export", Short: "Print the audit log as JSON lines", Args: cobra.NoArgs,
		Long: `Prints audit events in order, one JSON object per line, from --after on. It works
while kairosd serve runs. With --people, it prints the actions of people and programs,
without the engine's checkpoints. The last line is the server's signature of the lines
before it. kairosd audit verify-export checks it.`,
		Example: "  kairosd audit export --data /var/lib/kairos > audit.jsonl\n  kairosd audit export --after 120000 --people",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.withStore(cmd.Context(), true, func(s *store.Store) error {
				out := bufio.NewWriter(d.Out)
				lines := domain.NewSignedLines(out)
				enc := json.NewEncoder(lines)
				enc.SetEscapeHTML(false)
				for at := after; ; {
					events, err := s.AuditLog(cmd.Context(), at, 1000)
					if err != nil {
						return err
					}
					for _, e := range events {
						at = e.Seq
						if people && e.Action == store.ActionCheckpoint {
							continue
						}
						if err := enc.Encode(apitypes.AuditEventOf(e)); err != nil {
							return err
						}
					}
					if len(events) == 0 {
						if err := lines.Sign(cmd.Context(), s); err != nil {
							return err
						}
						return out.Flush()
					}
				}
			})
		},
	}
	cmd.Flags().Int64Var(&after, "after", 0, "begin after this event")
	cmd.Flags().BoolVar(&people, "people", false, "without the engine's checkpoints")
	return cmd
}

// publicKeyCommand prints the key that verifies the server's exports.
func (d *program) publicKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "public-key", Short: "Print the public key that verifies exports", Args: cobra.NoArgs,
		Long: `Prints the public key that verifies the exports of this server: kairosd audit export,
kairos runs export, and the exports of the dashboard and the API. Send it to the
verifier over another channel than the exports. It changes only with the key file.`,
		Example: "  kairosd audit public-key --data /var/lib/kairos",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.withStore(cmd.Context(), true, func(s *store.Store) error {
				key, err := s.PublicKey()
				if err != nil {
					return err
				}
				if d.json {
					return d.Print(map[string]string{"publicKey": key})
				}
				d.Printf("%s\n", key)
				return nil
			})
		},
	}
}

// verifyExportCommand checks an export with a public key and without a database.
func (d *program) verifyExportCommand() *cobra.Command {
	key := ""
	cmd := &cobra.Command{
		Use: "verify-export FILE", Short: "Check the signature of an export", Args: cobra.ExactArgs(1),
		Long: `Checks that a server signed an export, and that the export was not changed: an audit
log (JSON lines) or a run (run-ID.tar.zst). It needs the public key of the server, and
no database. Exit code 1: the export was changed, or another server signed it.`,
		Example: "  kairosd audit verify-export audit.jsonl --public-key ed25519:Ut1R…",
		RunE: func(_ *cobra.Command, args []string) error {
			if key == "" {
				return exit.Usage("missing flag --public-key\n  the server prints it: kairosd audit public-key")
			}
			f, err := os.Open(args[0])
			if err != nil {
				return exit.Usage("%w", err)
			}
			defer f.Close()
			in := bufio.NewReader(f)
			magic, _ := in.Peek(4) // a shorter file has neither format
			var s domain.ExportSignature
			if string(magic) == "\x28\xb5\x2f\xfd" { // Zstandard
				s, err = bundle.Verify(in, key)
			} else {
				s, _, err = domain.VerifyLines(in, key)
			}
			if domain.CodeOf(err) == domain.CodeCorrupt {
				return exit.With(exit.Failed, err)
			} else if err != nil {
				return err
			}
			if d.json {
				return d.Print(s)
			}
			d.Printf("%s is what server %s exported when its audit log was at event %d\n", args[0], s.Server, s.Head)
			return nil
		},
	}
	cmd.Flags().StringVar(&key, "public-key", "", "the public key of the server")
	return cmd
}
