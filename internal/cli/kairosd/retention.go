package kairosd

import (
	"context"
	"fmt"

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
		Long: `Applies the retention rules of the configuration now. kairosd serve applies them every
hour. Expired runs lose their journal and values. They stay in lists, and the audit log
records each. Unfinished runs, runs that an unfinished parent needs, and runs with the
label "pin" do not expire. If kairosd serve runs, it applies its own configuration.
--dry-run only reads the database, with the configuration of this command.`,
		Example: "  kairosd retention --config kairos.yaml --dry-run\n  kairosd retention --config kairos.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := d.retain(cmd.Context(), dry)
			if err != nil {
				return err
			}
			if d.json {
				return d.Print(r)
			}
			rows := [][]string{}
			for _, p := range r.Plans {
				rows = append(rows, []string{p.Plan.Key, string(p.Reason), fmt.Sprint(p.Runs), fmt.Sprint(p.Rows)})
			}
			d.Table([]string{"PLAN", "RULE", "RUNS", "JOURNAL ROWS"}, rows)
			if dry {
				d.Printf("to be deleted: %d runs with %d journal rows\n", r.Runs, r.Rows)
				return nil
			}
			d.Printf("deleted: %d runs with %d journal rows, and %d audit events; %d MiB freed\n", r.Runs, r.Rows, r.Events, r.Bytes>>20)
			return nil
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only print the runs to be deleted")
	return cmd
}

// retain changes the database, or uses the daemon that has it open.
func (d *program) retain(ctx context.Context, dry bool) (r domain.RetentionResult, err error) {
	cfg, err := config.Load(d.config)
	if err != nil {
		return r, err
	}
	policy, err := cfg.Retention.Policy()
	if err != nil {
		return r, err
	}
	if !datadir.Exists(d.dir().Database()) {
		return r, domain.Errorf(domain.CodeUnavailable, "no database in %s", d.data).Suggest("pass its directory with --data")
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
