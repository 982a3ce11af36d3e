package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/internal/bulk"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/web/webtest"
)

// dying is the store of a process that ends after it acted on a run and before it recorded that.
type dying struct {
	*store.Store
	dead chan struct{}
	once atomic.Bool
}

var errDead = errors.New("the process is gone")

func (d *dying) SettleBulkItem(context.Context, string, domain.BulkItem) error {
	if d.once.CompareAndSwap(false, true) {
		close(d.dead)
	}
	return errDead
}

func (d *dying) MoveBulk(context.Context, string, domain.BulkState, string, domain.Actor) (bool, error) {
	return false, errDead
}

// A process that ends between an action and its record has acted once: the next process neither
// repeats the action nor counts the run as refused.
func TestACrashBeforeTheResultIsStoredRepeatsNothing(t *testing.T) {
	t.Parallel()
	for _, action := range []domain.Action{domain.ActionRerun, domain.ActionResume, domain.ActionDelete, domain.ActionAcknowledge,
		domain.ActionLabel} {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			site := webtest.NewTolerant(t)
			repair, runs := outage(t, site, 2)
			repair()
			d := &dying{Store: site.Store, dead: make(chan struct{})}
			first := on(site, bulk.Config{Store: d, Engine: slow{site}})
			req := domain.BulkRequest{Action: action, Query: "status:failed", Reason: "it is up again"}
			if action == domain.ActionLabel {
				req.Labels = map[string]string{"seen": "yes"}
			}
			b, err := first.Start(t.Context(), site.Admin, req)
			if err != nil {
				t.Fatal(err)
			}
			<-d.dead
			first.Close()

			next := on(site, bulk.Config{Store: site.Store, Engine: slow{site}})
			t.Cleanup(next.Close)
			if err := next.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			if b = wait(t, next, b.ID, over); b.State != domain.BulkDone || b.Acted != 2 || b.Refused != 0 {
				t.Errorf("the operation ended as %+v", b)
			}
			for _, r := range runs {
				events, err := site.Store.AuditEvents(
					t.Context(),
					domain.AuditFilter{Action: "run." + string(action), Requests: []string{b.ID}},
				)
				if err != nil || len(events.Items) != 2 {
					t.Errorf("%d actions are audited, %v; want one per run", len(events.Items), err)
				}
				if action != domain.ActionRerun {
					continue
				}
				related, err := site.Store.Runs(t.Context(), domain.RunFilter{RelatedTo: r.ID})
				if err != nil || len(related.Items) != 1 {
					t.Errorf("run %s was rerun %d times, %v", domain.ShortID(r.ID), len(related.Items), err)
				}
			}
			items, err := next.Items(t.Context(), b.ID, 0, 10)
			if err != nil || len(items) != 2 || action == domain.ActionRerun && (items[0].Result == "" || items[1].Result == "") {
				t.Errorf("the items are %+v, %v", items, err)
			}
		})
	}
}

// stuck makes n failed runs that wait for an approval once they are resumed, and m
// later ones that fail the same way again.
func stuck(t *testing.T, site *webtest.Site, n, m int) {
	t.Helper()
	var up atomic.Bool
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ask" || !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(service.Close)
	site.Plan(t, fmt.Sprintf(`
id: ask
nodes:
  push: {type: http, effect: read, input: {url: %q}}
  ask: {type: approval, input: {message: go on?}}
edges: [{from: push, to: ask}]
`, service.URL+"/ask"))
	site.Plan(t, fmt.Sprintf("id: sync\nnodes:\n  push: {type: http, effect: read, input: {url: %q}}\n", service.URL+"/sync"))
	for i := range n + m {
		plan := "ask"
		if i >= n {
			plan = "sync"
		}
		if r := site.Run(t, plan, `null`); r.Status != domain.RunFailed {
			t.Fatalf("%s is %s", r.ID, r.Status)
		}
	}
	up.Store(true)
}

// Runs that wait for approvals do not hide the failures of others from the safety stop, however
// many there are.
func TestRunsThatWaitDoNotHideFailures(t *testing.T) {
	t.Parallel()
	site := webtest.NewTolerant(t)
	stuck(t, site, 55, 12)
	s := on(site, bulk.Config{Store: site.Store, Engine: slow{site}, SameFailures: 3})
	t.Cleanup(s.Close)
	b, err := s.Start(t.Context(), site.Admin, domain.BulkRequest{Action: domain.ActionResume, Query: "status:failed"})
	if err != nil {
		t.Fatal(err)
	}
	if b = wait(t, s, b.ID, over); b.State != domain.BulkStopped || b.Acted > 55+5 || !strings.Contains(b.Note, "3 consecutive runs") {
		t.Errorf("%+v", b)
	}
}

// The safety stop includes failures that an earlier process counted.
func TestTheSafetyStopHoldsAfterARestart(t *testing.T) {
	t.Parallel()
	site := webtest.NewTolerant(t)
	_, runs := outage(t, site, 5)
	first := on(site, bulk.Config{Store: site.Store, Engine: slow{site}, SameFailures: 2})
	b, err := first.Start(t.Context(), site.Admin, domain.BulkRequest{Action: domain.ActionResume, Query: "status:failed", Rate: 1})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, first, b.ID, func(b domain.Bulk) bool { return b.Acted == 1 })
	first.Close()
	for acted := int64(2); acted <= int64(len(runs)); acted++ {
		next := on(site, bulk.Config{Store: site.Store, Engine: slow{site}, SameFailures: 2})
		if err := next.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		b = wait(t, next, b.ID, func(b domain.Bulk) bool { return b.State.Final() || b.Acted == acted })
		next.Close()
		if b.State.Final() {
			break
		}
	}
	if b.State != domain.BulkStopped || b.Acted != 2 || !strings.Contains(b.Note, "2 consecutive runs") {
		t.Errorf("%+v", b)
	}
}
