package kairosd

import (
	"context"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/store"
)

func (d *program) retentionCommand() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use: "retention", Short: "Apply retention rules now", Args: cobra.NoArgs,
		Long: `Applies the rules of the configuration (retention) now; the daemon does so by
itself every hour. Finished runs that a rule does not keep lose their journal and
values; they stay in lists, and the audit log keeps a record of each. Runs that are
not finished, that a living parent needs, or that have the label "pin" are never
touched. Works while the daemon runs, which then applies its own configuration;
--dry-run only reads the database, with the configuration that is given here.`,
		Example: "  kairosd retention --config kairos.yaml --dry-run\n  kairosd retention --config kairos.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := d.retain(cmd.Context(), dry)
			if err != nil {
				return err
			}
			if d.json {
				return d.Print(r)
			}
			for _, p := range r.Plans {
				d.Printf("%-32s %-6s %8d runs %10d journal rows\n", p.Plan, p.Reason, p.Runs, p.Rows)
			}
			if dry {
				d.Printf("%d runs with %d journal rows would be removed\n", r.Runs, r.Rows)
				return nil
			}
			d.Printf("%d runs with %d journal rows and %d audit events removed, %d MiB given back\n", r.Runs, r.Rows, r.Events, r.Bytes>>20)
			return nil
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be removed")
	return cmd
}

// retain works on the database itself, or through the daemon that holds it.
func (d *program) retain(ctx context.Context, dry bool) (r domain.Retained, err error) {
	cfg, err := config.Load(d.config)
	if err != nil {
		return r, err
	}
	policy, err := cfg.Retention.Policy()
	if err != nil {
		return r, err
	}
	if !datadir.Exists(d.dir().Database()) {
		return r, domain.Errorf(domain.CodeUnavailable, "there is no database in %s", d.data).Suggest("say where it is with --data")
	}
	err = d.withStore(ctx, dry, func(s *store.Store) error {
		r, err = s.Retain(ctx, policy, assemble.LocalActor(), dry)
		return err
	})
	if domain.CodeOf(err) == domain.CodeLocked && datadir.IsSocket(d.dir().Socket()) {
		return client.Unix(d.dir().Socket()).Retain(ctx, "", dry)
	}
	return r, err
}
