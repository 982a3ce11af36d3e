package cli

import (
	"bufio"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
)

func (d *daemon) auditExportCommand() *cobra.Command {
	var after int64
	var people bool
	cmd := &cobra.Command{
		Use: "export", Short: "Print the audit log, one JSON object per line", Args: cobra.NoArgs,
		Long: `Prints audit events in order, one JSON object per line, from --after on. Works
while the daemon runs. With --people, only what people and programs did, without
the engine's checkpoints.`,
		Example: "  kairosd audit export --data /var/lib/kairos > audit.jsonl\n  kairosd audit export --after 120000 --people",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.withStore(cmd.Context(), true, func(s *store.Store) error {
				out := bufio.NewWriter(d.Out)
				enc := json.NewEncoder(out)
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
						if err := enc.Encode(kairos.ViewAudit(e)); err != nil {
							return err
						}
					}
					if len(events) == 0 {
						return out.Flush()
					}
				}
			})
		},
	}
	cmd.Flags().Int64Var(&after, "after", 0, "begin after this event")
	cmd.Flags().BoolVar(&people, "people", false, "leave the engine's checkpoints out")
	return cmd
}
