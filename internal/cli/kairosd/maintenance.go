package kairosd

import (
	"cmp"
	"context"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/daemon"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/store"
)

func (d *program) maintenanceCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "maintenance [on|off]", Short: "Pause or resume all execution", Args: cobra.MaximumNArgs(1), ValidArgs: []string{"on", "off"},
		Long: `During maintenance, no step of any run starts. Active steps finish. You can still
create, read, approve, and cancel runs, and every page shows a notice. Maintenance
survives restarts. Without an argument, the command prints whether maintenance is on.
kairosd serve may be running or stopped.`,
		Example: "  kairosd maintenance on --reason \"the ERP is down until 06:00\"\n  kairosd maintenance off",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] != "on" && args[0] != "off" {
				return exit.Usage("invalid argument %q\n  usage: kairosd maintenance [on|off]", args[0])
			}
			m, err := d.maintain(cmd.Context(), args, reason)
			if err != nil {
				return err
			}
			if d.json {
				return d.Print(map[string]any{"maintenance": m})
			}
			if m == nil {
				d.Printf("no maintenance\n")
				return nil
			}
			d.Printf("maintenance since %s by %s: %s\n", cli.Stamp(m.Since), m.By, cmp.Or(m.Reason, "no reason given"))
			return nil
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log and for other operators")
	return cmd
}

// setMaintenance changes a database that no daemon has open. A repetition changes nothing.
func (d *program) setMaintenance(ctx context.Context, s *store.Store, on bool, reason string) (*domain.Maintenance, error) {
	m, err := daemon.MaintenanceOf(ctx, s)
	if err != nil || on == (m != nil) {
		return m, err
	}
	return daemon.SetMaintenance(ctx, s, s, assemble.LocalActor(), on, reason)
}

// maintain changes the database, or uses the daemon that has it open.
func (d *program) maintain(ctx context.Context, args []string, reason string) (m *domain.Maintenance, err error) {
	if !datadir.Exists(d.dir().Database()) {
		return nil, domain.Errorf(domain.CodeUnavailable, "no database in %s", d.data).Suggest("pass its directory with --data")
	}
	err = d.withStore(ctx, len(args) == 0, func(s *store.Store) error {
		if len(args) == 0 {
			m, err = daemon.MaintenanceOf(ctx, s)
		} else {
			m, err = d.setMaintenance(ctx, s, args[0] == "on", reason)
		}
		return err
	})
	if domain.CodeOf(err) != domain.CodeLocked || !datadir.IsSocket(d.dir().Socket()) {
		return m, err
	}
	c := client.Unix(d.dir().Socket())
	if len(args) == 0 {
		i, err := c.Server(ctx)
		return i.Maintenance, err
	}
	return c.Maintain(ctx, args[0] == "on", reason)
}
