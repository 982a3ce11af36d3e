package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
)

// maintenanceKey keeps, over restarts, that no step may start; empty: they may.
const maintenanceKey = "maintenance"

// maintenanceOf is the maintenance that a database is in; nil: none.
func maintenanceOf(ctx context.Context, s *store.Store) (*kairos.Maintenance, error) {
	text, err := s.Setting(ctx, maintenanceKey)
	if err != nil || text == "" {
		return nil, err
	}
	var m kairos.Maintenance
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, kairos.Errorf(kairos.CodeCorrupt, "the setting %q: %w", maintenanceKey, err)
	}
	return &m, nil
}

// setMaintenance begins or ends maintenance, with its record.
func setMaintenance(ctx context.Context, s *store.Store, actor kairos.Actor, on bool, reason string) (*kairos.Maintenance, error) {
	now, err := maintenanceOf(ctx, s)
	if err != nil {
		return nil, err
	}
	switch {
	case on && now != nil:
		return now, kairos.Errorf(kairos.CodeConflict, "maintenance is on since %s, by %s", now.Since.Format(time.RFC3339), now.By)
	case !on && now == nil:
		return nil, kairos.Errorf(kairos.CodeConflict, "there is no maintenance to end")
	}
	r := kairos.AuditRecord{Action: "maintenance.end", Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Reason: reason}
	text := ""
	now = nil
	if on {
		r.Action = "maintenance.begin"
		now = &kairos.Maintenance{Since: time.Now().UTC().Truncate(time.Second), By: actor.Name, Reason: reason}
		b, err := json.Marshal(now)
		if err != nil {
			return nil, fmt.Errorf("encode the maintenance: %w", err)
		}
		text = string(b)
	}
	return now, s.SetSettingAs(ctx, maintenanceKey, text, r)
}

// Maintain lets no step start any more, or lets them start again.
func (s *system) Maintain(ctx context.Context, actor kairos.Actor, on bool, reason string) (*kairos.Maintenance, error) {
	if err := s.allow(ctx, actor, kairos.RoleOperator, "maintenance"); err != nil {
		return nil, err
	}
	s.maintaining.Lock()
	defer s.maintaining.Unlock()
	m, err := setMaintenance(ctx, s.store, actor, on, reason)
	if err != nil {
		return nil, err
	}
	s.engine.Maintain(on)
	s.mu.Lock()
	s.maintenance = m
	s.mu.Unlock()
	return m, nil
}

// resumeMaintenance goes on with what was begun before the start. It is called
// before the engine opens.
func (s *system) resumeMaintenance(ctx context.Context) error {
	m, err := maintenanceOf(ctx, s.store)
	if err != nil || m == nil {
		return err
	}
	s.log.Warn("maintenance: no step starts", "since", m.Since, "by", m.By, "reason", m.Reason)
	s.engine.Maintain(true)
	s.mu.Lock()
	s.maintenance = m
	s.mu.Unlock()
	return nil
}

func (d *daemon) maintenanceCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "maintenance [on|off]", Short: "Let no step start, or let them start again", Args: cobra.MaximumNArgs(1), ValidArgs: []string{"on", "off"},
		Long: `While maintenance is on, no step of any run starts. What runs finishes; runs can be
created, looked at, decided and cancelled, and every page says so. It outlasts
restarts of the daemon. Without an argument it says whether maintenance is on.
Works while the daemon runs, and while it does not: then it holds from its start.`,
		Example: "  kairosd maintenance on --reason \"the ERP is down until 06:00\"\n  kairosd maintenance off",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] != "on" && args[0] != "off" {
				return usage("say: kairosd maintenance, kairosd maintenance on, or kairosd maintenance off")
			}
			m, err := d.maintain(cmd.Context(), args, reason)
			if err != nil {
				return err
			}
			if d.json {
				return d.print(map[string]any{"maintenance": m})
			}
			if m == nil {
				d.printf("no maintenance: steps start\n")
				return nil
			}
			d.printf("maintenance since %s, by %s: %s\n", m.Since.Format(time.RFC3339), m.By, cmp.Or(m.Reason, "-"))
			return nil
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit log and for whoever looks")
	return cmd
}

// maintain works on the database itself, or through the daemon that holds it.
func (d *daemon) maintain(ctx context.Context, args []string, reason string) (m *kairos.Maintenance, err error) {
	if !exists(d.database()) {
		return nil, kairos.Errorf(kairos.CodeUnavailable, "there is no database in %s", d.data).Suggest("say where it is with --data")
	}
	err = d.withStore(ctx, len(args) == 0, func(s *store.Store) error {
		if len(args) == 0 {
			m, err = maintenanceOf(ctx, s)
		} else {
			m, err = setMaintenance(ctx, s, localActor(), args[0] == "on", reason)
		}
		return err
	})
	if kairos.CodeOf(err) != kairos.CodeLocked || !socketThere(socketPath(d.database())) {
		return m, err
	}
	c := client.Unix(socketPath(d.database()))
	if len(args) == 0 {
		i, err := c.Installation(ctx)
		return i.Maintenance, err
	}
	return c.Maintain(ctx, localActor(), args[0] == "on", reason)
}
