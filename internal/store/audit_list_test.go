package store

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// The chain also covers the request that caused an event.
func TestAuditRequestIsChained(t *testing.T) {
	t.Parallel()
	for _, column := range []string{"request", "address"} {
		s := openStore(t)
		if err := s.Audit(t.Context(), domain.AuditRecord{Action: "login", Actor: "ana",
			Request: domain.Request{ID: "r1", Address: "10.0.0.1"}}); err != nil {
			t.Fatal(err)
		}
		if err := alter(t, s.path, "DROP TRIGGER audit_events_are_immutable; UPDATE audit_events SET "+column+" = 'x' WHERE "+
			"action = 'login'"); err != nil {
			t.Fatal(err)
		}
		if r, err := s.VerifyAudit(t.Context()); err != nil || len(r.Problems) == 0 {
			t.Errorf("%s: a change is not found: %+v %v", column, r, err)
		}
	}
}

// An event has the link of the chain that covers it.
func TestAuditLink(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	for range 3 {
		if err := s.Audit(t.Context(), domain.AuditRecord{Action: "login", Actor: "ana"}); err != nil {
			t.Fatal(err)
		}
	}
	last, err := s.LastEvent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.AuditEvent(t.Context(), last)
	if err != nil || e.Action != "login" {
		t.Fatal(e, err)
	}
	l, err := s.AuditLink(t.Context(), last)
	if err != nil || l.Seq != last || l.Mac != e.Mac || l.Mac == "" || l.Before != last-1 || l.Last != last || l.Cut != 0 {
		t.Errorf("%+v %v", l, err)
	}
	if _, err := s.AuditEvent(t.Context(), last+1); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("an event that is not there: %v", err)
	}
	if _, err := s.AuditEvent(t.Context(), -1); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("an event that cannot be: %v", err)
	}
}

// A requested verification runs in the background, one at a time, and its result is in the log.
func TestAuditChecker(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	c := NewAuditChecker(s, slog.New(slog.DiscardHandler))
	if check, err := c.AuditCheck(t.Context()); err != nil || !check.Began.IsZero() {
		t.Errorf("before any: %+v %v", check, err)
	}
	ana := domain.Actor{Name: "ana", Role: domain.RoleOperator, Source: "ui", Request: domain.Request{ID: "r1"}}
	if err := s.Audit(t.Context(), domain.AuditRecord{Action: actionVerify, Actor: "vera",
		Result: "denied"}); err != nil { // not a verification
		t.Fatal(err)
	}
	if c.Busy() {
		t.Fatal("a verification is in progress without a request")
	}
	first := c.Begin(ana)
	if !c.Busy() {
		t.Error("no verification is in progress")
	}
	if second := c.Begin(domain.Actor{Name: "eve"}); second.By != "ana" || !second.Began.Equal(first.Began) {
		t.Errorf("a second at once: %+v", second)
	}
	go c.Run(t.Context())
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		check, err := c.AuditCheck(t.Context())
		if err != nil || time.Now().After(end) {
			t.Fatal(check, err)
		}
		if check.Ended.IsZero() {
			continue
		}
		if check.By != "ana" || check.Found != 0 || check.Events == 0 {
			t.Errorf("%+v", check)
		}
		break
	}
	list, err := s.AuditEvents(t.Context(), domain.AuditFilter{Requests: []string{"r1"}})
	if err != nil ||
		!slices.ContainsFunc(list.Items, func(e domain.AuditEvent) bool { return e.Action == actionVerify && e.Result == "ok" }) {
		t.Errorf("recorded: %+v %v", list.Items, err)
	}
}
