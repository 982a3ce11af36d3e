package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/view"
)

// system shows how the daemon and its data are, and what can be done about it.
func (r *request) system() error {
	if r.s.System == nil {
		return kairos.Errorf(kairos.CodeNotFound, "this installation has no page about itself")
	}
	i, err := r.s.System.Installation(r.ctx)
	if err != nil {
		return err
	}
	v, err := r.s.System.Vitals(r.ctx)
	if err != nil {
		return err
	}
	p := view.SystemPage{Vitals: r.vitals(v, i), Shell: r.shell("system", "System"), Idem: newID(), BackupDir: i.BackupDir, Retention: i.Retention, PlansAt: r.time(i.PlansAt),
		CanBackUp: r.who.Role.Includes(kairos.RoleAdmin), HeldHref: "/runs?q=" + url.QueryEscape("waiting:held")}
	if h := i.Hold; h != nil {
		p.Hold = r.t("This database is older than what was recorded of it.") + " "
		if h.Reason == kairos.HoldRestored {
			p.Hold = r.t("This database was restored from %s.", visible(h.Backup)) + " "
		}
		p.Hold += r.t("It ends at audit event %d.", h.Last) + " "
		if h.Lost > h.Last {
			p.Hold += r.n(int(h.Lost-h.Last), "%s event after that is lost.", "%s events after that are lost.") + " "
		}
		p.Hold += r.t("New runs wait, too, until you release all.")
	}
	if i.Held > 0 {
		p.Held = r.n(int(i.Held), "%s run is held", "%s runs are held")
	}
	p.CanMaintain = r.who.Role.Includes(kairos.RoleOperator)
	if m := i.Maintenance; m != nil {
		p.Maintenance = r.t("Since %s, by %s: %s", r.time(m.Since).Text, visible(m.By), cmp.Or(visible(m.Reason), "-"))
	}
	p.CanRelease = (p.Hold != "" || p.Held != "") && r.who.Role.Includes(kairos.RoleOperator)
	fact := func(list *[]view.Fact, term, format string, args ...any) {
		*list = append(*list, view.Fact{Term: term, Text: fmt.Sprintf(format, args...)})
	}
	state := r.t("running")
	switch {
	case i.Failed != "":
		state = r.t("stopping: %s", i.Failed)
	case i.Safe != "":
		state = r.t("safe mode: %s", i.Safe)
	case i.Hold != nil:
		state = r.t("held")
	}
	fact(&p.Health, r.t("State"), "%s", state)
	fact(&p.Health, r.t("Started"), "%s", r.time(i.Started).Text)
	if i.LastFailure != "" {
		fact(&p.Health, r.t("Stopped before by"), "%s", visible(i.LastFailure))
	}
	if !i.CheckedAt.IsZero() {
		found := r.t("nothing was found")
		if i.Finding != "" {
			found = visible(i.Finding)
		}
		fact(&p.Health, r.t("Examined"), "%s: %s", r.time(i.CheckedAt).Text, found)
	}
	fact(&p.Health, r.t("Start number"), "%d", i.Epoch)
	fact(&p.Health, r.t("Audit events"), "%d", i.Events)
	fact(&p.Health, r.t("Installation"), "%s", i.Instance)
	fact(&p.Health, r.t("Version"), "%s, schema %d", i.Version, i.Schema)
	fact(&p.Storage, r.t("Database"), "%s", bytesText(i.Storage.Database))
	fact(&p.Storage, r.t("Free in it"), "%s", bytesText(i.Storage.Unused))
	fact(&p.Storage, r.t("Free on the disk"), "%s of %s", bytesText(i.Storage.Free), bytesText(i.Storage.Disk))
	for _, s := range i.Plans {
		p.Plans = append(p.Plans, view.PlanStorage{Plan: visible(s.Plan), Href: "/plans/" + url.PathEscape(s.Plan), Runs: strconv.FormatInt(s.Runs, 10),
			Rows: strconv.FormatInt(s.Rows, 10), Purged: strconv.FormatInt(s.Purged, 10), Size: bytesText(s.Bytes)})
	}
	for _, b := range i.Backups {
		p.Backups = append(p.Backups, view.BackupRow{Name: visible(filepath.Base(b.Path)), Created: r.time(b.Created), Size: bytesText(b.Bytes),
			Event: strconv.FormatInt(b.AuditSeq, 10), Runs: strconv.FormatInt(b.Rows["runs"], 10)})
	}
	return r.render(http.StatusOK, view.System(p))
}

// releaseAll ends a hold.
func (r *request) releaseAll() error {
	return r.once(func() (string, error) {
		if r.s.System == nil {
			return "", kairos.Errorf(kairos.CodeNotFound, "this installation has no page about itself")
		}
		_, err := r.s.System.ReleaseHeld(r.ctx, r.who.actor(), "", r.c.FormValue("reason"))
		return "/system", err
	})
}

// maintain begins or ends maintenance.
func (r *request) maintain() error {
	return r.once(func() (string, error) {
		if r.s.System == nil {
			return "", kairos.Errorf(kairos.CodeNotFound, "this installation has no page about itself")
		}
		_, err := r.s.System.Maintain(r.ctx, r.who.actor(), r.c.FormValue("on") == "true", r.c.FormValue("reason"))
		return "/system", err
	})
}

// backUp makes a backup.
func (r *request) backUp() error {
	return r.once(func() (string, error) {
		if r.s.System == nil {
			return "", kairos.Errorf(kairos.CodeNotFound, "this installation has no page about itself")
		}
		// It goes on when the browser is closed: a large database takes minutes.
		_, err := r.s.System.BackUp(context.WithoutCancel(r.ctx), r.who.actor())
		return "/system", err
	})
}

// bytesText is a size for people.
func bytesText(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%d KiB", n/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MiB", float64(n)/(unit*unit))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(unit*unit*unit))
}
