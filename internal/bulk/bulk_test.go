package bulk_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/bulk"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/webtest"
)

// outage is a service that is down until the test repairs it, and n runs that failed on it.
func outage(t *testing.T, site *webtest.Site, n int) (repair func(), runs []domain.Run) {
	t.Helper()
	var up atomic.Bool
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(service.Close)
	site.Plan(
		t,
		fmt.Sprintf(
			"id: sync\nnodes:\n  load: {type: set, input: 1}\n  push: {type: http, effect: read, input: {url: %q}}\n"+
				"edges: [{from: load, to: push}]\n",
			service.URL,
		),
	)
	for range n {
		runs = append(runs, site.Run(t, "sync", `null`))
	}
	for _, r := range runs {
		if r.Status != domain.RunFailed {
			t.Fatalf("%s is %s", r.ID, r.Status)
		}
	}
	return func() { up.Store(true) }, runs
}

// on starts a Service on a site.
func on(site *webtest.Site, c bulk.Config) apptest.Bulk {
	return apptest.BulkOn(site.Config, bulk.New(c), site.Store)
}

func wait(t *testing.T, s apptest.Bulk, id string, done func(domain.Bulk) bool) domain.Bulk {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		b, err := s.Bulk(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if done(b) {
			return b
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %+v", b)
		}
		runtime.Gosched() // a bulk operation has no event to wait for
	}
}

func over(b domain.Bulk) bool { return b.State.Final() }

// An outage that fails many runs is one failure group, and one bulk resume resolves it.
func TestAnOutageIsOneGroupAndOneResume(t *testing.T) {
	t.Parallel()
	site := webtest.NewTolerant(t)
	repair, runs := outage(t, site, 12)
	groups, err := site.Store.FailureGroups(t.Context(), 10)
	if err != nil || len(groups) != 1 || groups[0].Runs != 12 || groups[0].Plan.Key != "sync" || groups[0].Node != "push" {
		t.Fatalf("%+v %v", groups, err)
	}
	repair()
	query := fmt.Sprintf("status:failed plan:sync node:push error:%s", groups[0].Code)
	p, err := site.Bulk.Preview(t.Context(), site.Admin, domain.BulkRequest{Action: domain.ActionResume, Query: query})
	if err != nil || p.Eligible != 12 || p.Preview == nil || len(p.Preview.Again) != 1 || p.First != runs[0].ID {
		t.Fatalf("%+v %v", p, err)
	}
	b, err := site.Bulk.Start(
		t.Context(),
		site.Admin,
		domain.BulkRequest{Action: domain.ActionResume, Query: query, Canary: true, Digest: p.Digest, Reason: "it is up again"},
	)
	if err != nil || b.State != domain.BulkCanary {
		t.Fatalf("%+v %v", b, err)
	}
	if b = wait(t, site.Bulk, b.ID, over); b.State != domain.BulkDone || b.Acted != 12 || b.Refused != 0 {
		t.Errorf("%+v", b)
	}
	for _, r := range runs {
		if got, err := site.Engine.Wait(t.Context(), r.ID); err != nil || got.Status != domain.RunCompleted {
			t.Errorf("%s is %s: %v", r.ID, got.Status, err)
		}
	}
	if groups, err = site.Store.FailureGroups(t.Context(), 10); err != nil || len(groups) != 0 {
		t.Errorf("%+v %v", groups, err)
	}
	audit, err := site.Store.AuditEvents(t.Context(), domain.AuditFilter{Object: "bulk:" + b.ID})
	if err != nil || len(audit.Items) != 2 || audit.Items[1].Reason != "it is up again" {
		t.Errorf("%+v %v", audit.Items, err)
	}
}

// During an outage one run fails again, not all of them.
func TestTheCanaryStopsTheRest(t *testing.T) {
	t.Parallel()
	site := webtest.NewTolerant(t)
	_, runs := outage(t, site, 5)
	b, err := site.Bulk.Start(
		t.Context(),
		site.Admin,
		domain.BulkRequest{Action: domain.ActionResume, Query: "status:failed", Canary: true},
	)
	if err != nil {
		t.Fatal(err)
	}
	b = wait(t, site.Bulk, b.ID, over)
	if b.State != domain.BulkStopped || b.Acted != 1 || !strings.Contains(b.Note, "failed the same way") {
		t.Errorf("%+v", b)
	}
	for _, r := range runs[1:] {
		if got, err := site.Store.Run(t.Context(), r.ID); err != nil || got.LastSeq != r.LastSeq {
			t.Errorf("%s was touched: %v", r.ID, err)
		}
	}
}

// Without a canary, too, runs that fail again as before stop the operation.
func TestFailuresInARowStopTheRest(t *testing.T) {
	t.Parallel()
	site := webtest.NewTolerant(t)
	outage(t, site, 9)
	s := on(site, bulk.Config{Store: site.Store, Engine: slow{site}, SameFailures: 2})
	t.Cleanup(s.Close)
	b, err := s.Start(t.Context(), site.Admin, domain.BulkRequest{Action: domain.ActionResume, Query: "status:failed"})
	if err != nil {
		t.Fatal(err)
	}
	if b = wait(t, s, b.ID, over); b.State != domain.BulkStopped || b.Acted > 4 || !strings.Contains(b.Note, "consecutive") {
		t.Errorf("%+v", b)
	}
}

// slow is an engine whose actions return when the run has stopped.
type slow struct{ *webtest.Site }

func (s slow) Preview(ctx context.Context, a domain.Actor, r domain.ActionRequest) (domain.Preview, error) {
	return s.Engine.Preview(ctx, a, r)
}
func (s slow) Start(ctx context.Context, a domain.Actor, r domain.StartRequest) (domain.Run, error) {
	return s.Engine.Start(ctx, a, r)
}
func (s slow) SignalStored(ctx context.Context, name, key string) {
	s.Engine.SignalStored(ctx, name, key)
}
func (s slow) Program(ctx context.Context, ref domain.ProgramRef) (*walk.Program, error) {
	return s.Engine.Program(ctx, ref)
}
func (s slow) Wait(ctx context.Context, run string) (domain.Run, error) {
	return s.Engine.Wait(ctx, run)
}
func (s slow) Act(ctx context.Context, a domain.Actor, r domain.ActionRequest) (domain.Run, error) {
	run, err := s.Engine.Act(ctx, a, r)
	if err != nil {
		return run, err
	}
	return s.Engine.Wait(ctx, run.ID)
}

// The next process continues an unfinished bulk operation. Stopping one leaves the remaining runs
// unchanged.
func TestABulkOperationContinuesAfterARestart(t *testing.T) {
	t.Parallel()
	site := webtest.NewTolerant(t)
	repair, runs := outage(t, site, 4)
	repair()
	s := on(site, bulk.Config{Store: site.Store, Engine: slow{site}})
	b, err := s.Start(t.Context(), site.Admin, domain.BulkRequest{Action: domain.ActionRerun, Query: "status:failed", Rate: 1})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, s, b.ID, func(b domain.Bulk) bool { return b.Acted == 1 })
	s.Close()
	if b, err = s.Bulk(t.Context(), b.ID); err != nil || b.State != domain.BulkRunning || b.Acted != 1 {
		t.Fatalf("%+v %v", b, err)
	}
	next := on(site, bulk.Config{Store: site.Store, Engine: slow{site}})
	t.Cleanup(next.Close)
	if err := next.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, next, b.ID, func(b domain.Bulk) bool { return b.Acted == 2 })
	if b, err = next.Stop(t.Context(), site.Admin, b.ID, "enough"); err != nil || b.State != domain.BulkStopped ||
		b.Note != "stopped by marta: enough" {
		t.Errorf("%+v %v", b, err)
	}
	if again, err := next.Stop(t.Context(), site.Admin, b.ID, ""); err != nil || again.Note != b.Note {
		t.Errorf("stopped twice: %+v %v", again, err)
	}
	items, err := next.Items(t.Context(), b.ID, 0, 10)
	if err != nil || len(items) != len(runs) || items[3].State != "pending" || items[0].Result == "" {
		t.Errorf("%+v %v", items, err)
	}
}

// A run that changed after the preview is not changed.
func TestRunsThatChangedSinceThePreviewAreSkipped(t *testing.T) {
	t.Parallel()
	site := webtest.NewTolerant(t)
	repair, runs := outage(t, site, 3)
	p, err := site.Bulk.Preview(t.Context(), site.Admin, domain.BulkRequest{Action: domain.ActionDelete, Query: "status:failed"})
	if err != nil {
		t.Fatal(err)
	}
	repair()
	if _, err := site.Engine.Act(t.Context(), site.Admin, domain.ActionRequest{Run: runs[1].ID, Action: domain.ActionResume}); err != nil {
		t.Fatal(err)
	}
	if _, err := site.Engine.Wait(t.Context(), runs[1].ID); err != nil {
		t.Fatal(err)
	}
	req := domain.BulkRequest{Action: domain.ActionDelete, Query: "status:failed", Digest: p.Digest}
	if _, err := site.Bulk.Start(t.Context(), site.Admin, req); domain.CodeOf(err) != domain.CodeStale {
		t.Errorf("a preview that is out of date: %v", err)
	}
	for _, bad := range []domain.BulkRequest{{Action: "fork", Query: "status:failed"}, {Action: domain.ActionDelete},
		{Action: domain.ActionDelete, Query: "status:odd"}, {Action: domain.ActionDelete, Query: "plan:none"},
		{Action: domain.ActionDelete, Query: "id:" + runs[0].ID, Rate: -1}} {
		if _, err := site.Bulk.Start(t.Context(), site.Admin, bad); err == nil {
			t.Errorf("%+v was begun", bad)
		}
	}
	viewer := domain.Actor{Name: "vera", Role: domain.RoleViewer}
	if _, err := site.Bulk.Start(t.Context(), viewer,
		domain.BulkRequest{Action: domain.ActionDelete, Query: "status:failed"}); domain.CodeOf(
		err,
	) != domain.CodeForbidden {
		t.Errorf("a viewer: %v", err)
	}
}

// An operation that waits for a provider does nothing while the provider is unavailable. A canary
// that fails as before is followed by another one.
func TestABulkOperationWaitsForItsProvider(t *testing.T) {
	t.Parallel()
	site := webtest.NewTolerant(t)
	repair, runs := outage(t, site, 4)
	var open atomic.Bool
	asked := make(chan struct{}, 1000)
	s := on(
		site,
		bulk.Config{Store: site.Store, Engine: slow{site}, ProviderWait: time.Millisecond, Providers: func() []domain.ProviderInfo {
			select {
			case asked <- struct{}{}:
			default:
			}
			p := domain.ProviderInfo{Name: "openai", Circuit: domain.Circuit{State: domain.CircuitOpen}}
			if open.Load() {
				p.Circuit.State = domain.CircuitHalfOpen
			}
			return []domain.ProviderInfo{p}
		}},
	)
	t.Cleanup(s.Close)
	if _, err := s.Preview(t.Context(), site.Admin,
		domain.BulkRequest{Action: domain.ActionResume, Query: "status:failed", Provider: "nobody"}); domain.CodeOf(
		err,
	) != domain.CodeInvalid {
		t.Errorf("a provider there is not: %v", err)
	}
	b, err := s.Start(
		t.Context(),
		site.Admin,
		domain.BulkRequest{Action: domain.ActionResume, Query: "status:failed", Canary: true, Provider: "openai"},
	)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		<-asked
	}
	if b, err = s.Bulk(t.Context(), b.ID); err != nil || b.Acted != 0 || b.State.Final() {
		t.Fatalf("it did not wait: %+v %v", b, err)
	}
	open.Store(true) // it accepts a call, which fails as before
	wait(t, s, b.ID, func(b domain.Bulk) bool { return b.Acted >= 1 })
	repair()
	if b = wait(t, s, b.ID, over); b.Acted < 1 {
		t.Errorf("%+v", b)
	}
	_ = runs
}

// An operation that waits for the circuit of a tool does nothing while that is open, and continues
// automatically when it closes. One that does not wait reports that the circuit is open and until
// when, before it starts and after its canary failed.
func TestABulkOperationWaitsForTheCircuitOfATool(t *testing.T) {
	t.Parallel()
	site := webtest.NewTolerant(t)
	repair, runs := outage(t, site, 3)
	program, err := site.Engine.Program(t.Context(), runs[0].ProgramRef)
	if err != nil {
		t.Fatal(err)
	}
	host := site.Tools.Host("http", program.Nodes[program.Index["push"]].Input.Source)
	site.OpenCircuit(host)
	site.OpenCircuit("elsewhere.example") // no step of these runs calls it
	asked := make(chan struct{}, 1000)
	s := on(
		site,
		bulk.Config{
			Store:        site.Store,
			Engine:       slow{site},
			ProviderWait: time.Millisecond,
			Host:         site.Tools.Host,
			Tools: func(ctx context.Context) ([]domain.ToolInfo, error) {
				select {
				case asked <- struct{}{}:
				default:
				}
				return site.Tools.Tools(ctx)
			},
		},
	)
	t.Cleanup(s.Close)
	name := "http " + host
	req := domain.BulkRequest{Action: domain.ActionResume, Query: "status:failed", Canary: true}
	p, err := s.Preview(t.Context(), site.Admin, req)
	if err != nil || len(p.Circuits) != 1 || p.Circuits[0].Name() != name || p.Circuits[0].OpenUntil.IsZero() {
		t.Fatalf("the preview does not say what is in the way: %+v %v", p.Circuits, err)
	}
	for _, bad := range []string{"calculator", "nothing", "crm.find api.example"} {
		if _, err := s.Preview(t.Context(), site.Admin,
			domain.BulkRequest{Action: domain.ActionResume, Query: "status:failed", Tool: bad}); domain.CodeOf(
			err,
		) != domain.CodeInvalid {
			t.Errorf("waiting for %q: %v", bad, err)
		}
	}

	b, err := s.Start(t.Context(), site.Admin, req)
	if err != nil {
		t.Fatal(err)
	}
	if b = wait(t, s, b.ID, over); b.State != domain.BulkStopped ||
		!strings.Contains(b.Note, "the circuit of "+name+" is open until "+p.Circuits[0].OpenUntil.Format("15:04:05 UTC")) {
		t.Errorf("it does not say that the circuit is open: %+v", b)
	}

	req.Tool = name
	if b, err = s.Start(t.Context(), site.Admin, req); err != nil {
		t.Fatal(err)
	}
	for len(asked) > 0 {
		<-asked
	}
	for range 10 {
		<-asked
	}
	if b, err = s.Bulk(t.Context(), b.ID); err != nil || b.Tool != name || b.Acted != 0 || b.State.Final() {
		t.Fatalf("it did not wait: %+v %v", b, err)
	}
	repair()
	if _, err := site.App.Tools.Enable(t.Context(),
		app.EnableRequest{Meta: app.Meta{By: site.Admin}, Name: "http", Host: host}); err != nil {
		t.Fatal(err)
	}
	if b = wait(t, s, b.ID, over); b.State != domain.BulkDone || b.Acted != 3 {
		t.Errorf("%+v", b)
	}
}
