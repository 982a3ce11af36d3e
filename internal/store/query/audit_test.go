package query_test

import (
	"fmt"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// Every column of an audit event can be filtered, alone and with others, and excluded. Pages by key
// have no gap.
func TestAuditFilters(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ctx := t.Context()
	var all []domain.AuditRecord
	for i := range 60 {
		all = append(
			all,
			domain.AuditRecord{
				Action:  []string{"plan.save", "run.cancel", "login"}[i%3],
				Actor:   []string{"ana", "marta"}[i%2],
				Source:  []string{"ui", "api"}[i/2%2],
				Object:  []string{"plan:a", "plan:b", "user:ana"}[i%3],
				Result:  []string{"ok", "denied", "failed", "ok"}[i%4],
				Request: domain.Request{ID: fmt.Sprintf("r%d", i/2), Address: fmt.Sprintf("10.0.0.%d", i%5)},
			},
		)
	}
	for _, r := range all {
		if err := s.Audit(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	type is func(r domain.AuditRecord) bool
	for name, c := range map[string]struct {
		f  domain.AuditFilter
		is is
	}{
		"an actor": {domain.AuditFilter{Actors: []string{"ana"}},
			func(r domain.AuditRecord) bool { return r.Actor == "ana" }},
		"either action": {domain.AuditFilter{Actions: []string{"login", "plan.save"}},
			func(r domain.AuditRecord) bool { return r.Action != "run.cancel" }},
		"actions that begin so": {domain.AuditFilter{Actions: []string{"plan.*"}},
			func(r domain.AuditRecord) bool { return r.Action == "plan.save" }},
		"a star means no glob": {domain.AuditFilter{Actions: []string{"p?an.*"}}, func(domain.AuditRecord) bool { return false }},
		"objects that begin so": {domain.AuditFilter{Objects: []string{"plan:*"}},
			func(r domain.AuditRecord) bool { return r.Object != "user:ana" }},
		"a result": {domain.AuditFilter{Results: []string{"denied"}},
			func(r domain.AuditRecord) bool { return r.Result == "denied" }},
		"all that went well": {domain.AuditFilter{Result: "ok"}, func(r domain.AuditRecord) bool { return r.Result == "ok" }},
		"all but what went well": {domain.AuditFilter{Exclude: domain.AuditExclusion{Results: []string{"ok"}}},
			func(r domain.AuditRecord) bool { return r.Result != "ok" }},
		"a door": {domain.AuditFilter{Sources: []string{"api"}},
			func(r domain.AuditRecord) bool { return r.Source == "api" }},
		"an address": {domain.AuditFilter{Addresses: []string{"10.0.0.3"}},
			func(r domain.AuditRecord) bool { return r.Request.Address == "10.0.0.3" }},
		"a request": {domain.AuditFilter{Requests: []string{"r7"}},
			func(r domain.AuditRecord) bool { return r.Request.ID == "r7" }},
		"an actor's denied logins": {domain.AuditFilter{Actors: []string{"marta"}, Actions: []string{"login"}, Results: []string{"denied"}},
			func(r domain.AuditRecord) bool {
				return r.Actor == "marta" && r.Action == "login" && r.Result == "denied"
			}},
		"an address but not an actor": {domain.AuditFilter{Addresses: []string{"10.0.0.1"},
			Exclude: domain.AuditExclusion{Actors: []string{"ana"}}},
			func(r domain.AuditRecord) bool { return r.Request.Address == "10.0.0.1" && r.Actor != "ana" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := 0
			for _, r := range all {
				if c.is(r) {
					want++
				}
			}
			f, seen, last := c.f, 0, int64(1<<62)
			f.Page.Limit = 7
			for {
				list, err := s.AuditEvents(t.Context(), f)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range list.Items {
					if !c.is(e.AuditRecord) || e.Seq >= last {
						t.Fatalf("event %d: %+v", e.Seq, e.AuditRecord)
					}
					seen, last = seen+1, e.Seq
				}
				if list.Next == "" {
					break
				}
				f.Page.After = list.Next
			}
			if seen != want {
				t.Errorf("%d events, want %d", seen, want)
			}
		})
	}
	report, err := s.VerifyAudit(ctx)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("verify: %v %v", report.Problems, err)
	}
}
