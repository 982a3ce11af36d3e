package daemon

import (
	"cmp"
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
)

// Notices returns the notices that every page shows now. It is fast.
func (s *system) Notices(ctx context.Context) []domain.Notice {
	var out []domain.Notice
	add := func(bad bool, href, act, format string, args ...any) {
		out = append(out, domain.Notice{Bad: bad, Text: domain.Messagef(format, args...), Href: href, Action: domain.Messagef(act)})
	}
	if err := s.store.Failure(); err != nil {
		add(true, "", "", "Storage failed: %s. kairosd is stopping. Acknowledged data is safe.", err)
	}
	if !s.safe.IsZero() {
		add(true, "/system", "Details", "Safe mode: %s. You can view and cancel runs. No steps run.", s.safe)
	}
	s.mu.Lock()
	finding, maintenance, fault := s.checks.finding, s.maintenance, s.configFault
	s.mu.Unlock()
	if !fault.IsZero() {
		add(true, "/system/config", "Details", "%s", fault)
	}
	if m := maintenance; m != nil {
		add(
			false,
			"/system",
			"Details",
			"Maintenance since %s, by %s: %s. Active steps finish. No new steps start.",
			m.Since.Format("2006-01-02 15:04 UTC"),
			m.By,
			cmp.Or(m.Reason, "-"),
		)
	}
	if finding != "" {
		add(true, "/system", "Details", "The integrity check of the database found a problem: %s. Run kairosd doctor.", finding)
	}
	if s.access != "" {
		add(
			true,
			"/system",
			"Details",
			"Another program changed accounts or approvals in the database: %s. The change has no effect. Run kairosd doctor.",
			s.access,
		)
	}
	if !s.clock.IsZero() {
		add(true, "", "", "%s", s.clock)
	}
	if d := s.engine.ClockAhead(); d > time.Minute {
		add(
			true,
			"",
			"",
			"The clock of this machine was set back by %s while kairosd is running. Until kairosd restarts, timers and "+
				"records use the time from before.",
			d.Round(time.Minute),
		)
	}
	if w := engine.RecordsOf(s.engine).Workers(); w != nil {
		for _, m := range w.Messages() {
			add(true, "/system", "Details", "%s", m)
		}
	}
	held := int64(0)
	if counts, err := s.store.RunCounts(ctx); err == nil {
		held = counts.Held
	}
	if h, err := s.store.Hold(ctx); err == nil && h != nil {
		add(true, "/system", "Review and release", "Runs are on hold: %s. %s.", holdText(h), heldText(held))
	} else if held > 0 {
		add(true, "/system", "Review and release", "%s since a restore.", heldText(held))
	}
	if u, err := s.store.Usage(ctx); err == nil {
		if u.Needs > 0 {
			add(
				true,
				"/settings/retention",
				"Delete old runs",
				"The disk of the data directory is full. Work waits until %d MiB are free. Delete old runs to free space.",
				u.Needs>>20,
			)
		} else if u.NearlyFull() {
			add(u.Full(), "/system", "Details", "Low disk space: the data directory has %d MiB free.", u.Free>>20)
		}
	}
	return out
}

func heldText(n int64) domain.Message {
	if n == 1 {
		return domain.Messagef("1 run is held")
	}
	return domain.Messagef("%d runs are held", n)
}

// holdText returns the reason for a hold.
func holdText(h *domain.Hold) domain.Message {
	text := domain.Messagef("this database is older than the newest record of it")
	if h.Reason == domain.HoldRestored {
		text = domain.Messagef("this database was restored from %s", h.Backup)
	}
	if h.Reason == domain.HoldKeyLost {
		text = domain.Messagef(
			"the key file of this database was lost: all access ended, and only a new administrator can release the runs",
		)
	}
	if h.Lost > h.Last {
		text = domain.Messagef("%s, %d events after event %d are missing", text, h.Lost-h.Last, h.Last)
	}
	return text
}
