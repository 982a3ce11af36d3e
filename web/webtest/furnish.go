package webtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/metric/activity"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner"
)

// Furnishing is a server to which Furnish adds data.
type Furnishing interface {
	Approvals(ctx context.Context, f domain.ApprovalFilter) (domain.List[domain.Approval], error)
	StartDraft(ctx context.Context, actor domain.Actor, r domain.DraftRequest) (domain.Draft, error)
	Draft(ctx context.Context, id string) (domain.Draft, error)
	// OpenCircuit opens the circuit of a host.
	OpenCircuit(tb testing.TB, host string)
	Start(ctx context.Context, actor domain.Actor, r domain.StartRequest) (domain.Run, error)
	SavePlan(
		ctx context.Context,
		actor domain.Actor,
		src []byte,
		f planner.Format,
		origin, reason string,
	) (domain.Plan, domain.Version, bool, planner.Problems, error)
	Wait(ctx context.Context, run string) (domain.Run, error)
	Detail(ctx context.Context, run string) (domain.RunDetail, error)
	// Damage executes SQL statements on the database file, to simulate a disk failure.
	Damage(tb testing.TB, statements string)
	HandoffsOf(ctx context.Context, f domain.HandoffFilter) (domain.List[domain.HandoffSummary], error)
	StartBulk(ctx context.Context, actor domain.Actor, r domain.BulkRequest) (domain.Bulk, error)
	CreateSchedule(ctx context.Context, s apitypes.ScheduleCreate) (apitypes.Schedule, error)
	CreateHook(ctx context.Context, h apitypes.HookCreate) (apitypes.HookDetail, error)
	SendSignal(ctx context.Context, s apitypes.SignalCreate) (apitypes.Signal, error)
}

// furnished implements Furnishing for a Site.
type furnished struct{ *Site }

func (f furnished) Approvals(ctx context.Context, filter domain.ApprovalFilter) (domain.List[domain.Approval], error) {
	return f.Store.Approvals(ctx, filter)
}
func (f furnished) StartDraft(ctx context.Context, actor domain.Actor, r domain.DraftRequest) (domain.Draft, error) {
	return f.Drafts.Start(ctx, actor, r)
}
func (f furnished) Draft(ctx context.Context, id string) (domain.Draft, error) {
	return f.Drafts.Draft(ctx, id)
}
func (f furnished) OpenCircuit(_ testing.TB, host string) { f.Site.OpenCircuit(host) }
func (f furnished) Start(ctx context.Context, actor domain.Actor, r domain.StartRequest) (domain.Run, error) {
	return f.Engine.Start(ctx, actor, r)
}

func (f furnished) SavePlan(
	ctx context.Context,
	actor domain.Actor,
	src []byte,
	format planner.Format,
	origin, reason string,
) (domain.Plan, domain.Version, bool, planner.Problems, error) {
	return f.Engine.SavePlan(ctx, actor, src, format, origin, reason)
}
func (f furnished) HandoffsOf(ctx context.Context, filter domain.HandoffFilter) (domain.List[domain.HandoffSummary], error) {
	return f.Store.HandoffsOf(ctx, filter)
}
func (f furnished) Wait(ctx context.Context, run string) (domain.Run, error) {
	return f.Engine.Wait(ctx, run)
}
func (f furnished) Detail(ctx context.Context, run string) (domain.RunDetail, error) {
	return f.Engine.Detail(ctx, run)
}
func (f furnished) Damage(tb testing.TB, statements string) {
	tb.Helper()
	storetest.Alter(tb, f.Store.Path(), statements)
}
func (f furnished) CreateSchedule(ctx context.Context, s apitypes.ScheduleCreate) (apitypes.Schedule, error) {
	x, err := f.App.Schedules.Create(ctx, app.NewSchedule{Meta: app.Meta{By: f.Admin}, Key: s.Key,
		ScheduleFields: app.ScheduleFields{Plan: s.Plan, Cron: s.Cron, Zone: s.TimeZone, Labels: s.Labels}})
	return apitypes.Schedule{ID: x.ID, Key: x.Key}, err
}
func (f furnished) CreateHook(ctx context.Context, h apitypes.HookCreate) (apitypes.HookDetail, error) {
	x, err := f.App.Hooks.Create(ctx, app.NewHook{Meta: app.Meta{By: f.Admin}, Key: h.Key,
		HookFields: app.HookFields{Plan: h.Plan, Scheme: h.Scheme, Secret: h.Secret, Filter: h.Filter, Labels: h.Labels}})
	return apitypes.HookDetail{Hook: apitypes.HookOf(x)}, err
}
func (f furnished) SendSignal(ctx context.Context, s apitypes.SignalCreate) (apitypes.Signal, error) {
	x, err := f.App.Signals.Send(ctx, app.NewSignal{Meta: app.Meta{By: f.Admin}, Name: s.Name, Key: s.Key, Data: s.Data})
	return apitypes.SignalOf(x), err
}
func (f furnished) StartBulk(ctx context.Context, actor domain.Actor, r domain.BulkRequest) (domain.Bulk, error) {
	return f.Bulk.Start(ctx, actor, r)
}

// OpenCircuit opens the circuit of a host of the http tool for an hour.
func (s *Site) OpenCircuit(host string) {
	pass, _ := s.Tools.Circuits.Enter(
		circuit.ID{Subject: activity.Tool + "http", Part: host},
		circuit.Settings{Failures: 1, Cooldown: time.Hour},
	)
	s.Tools.Circuits.Leave(pass, circuit.Unwell, errors.New("no answer: "+Hostile))
}

// Awaits starts a run that waits for a signal, and returns when it waits.
func (s *Site) Awaits(tb testing.TB, plan string) domain.Run {
	tb.Helper()
	return Awaits(tb, furnished{s}, s.Admin, plan)
}

// Furnish adds data to a seed that only some pages need: a draft, bulk operations, an open circuit,
// an approval, and damaged runs.
func (s *Site) Furnish(tb testing.TB, d Seeded) Seeded {
	tb.Helper()
	s.Demo.Set(DemoInDoubt())
	return Furnish(tb, furnished{s}, s.Admin, d)
}

// Furnish adds data to a seed that only some pages need.
func Furnish(tb testing.TB, on Furnishing, admin domain.Actor, d Seeded) Seeded {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	open, err := on.Approvals(ctx, domain.ApprovalFilter{Run: d.Waiting.ID})
	if err != nil || len(open.Items) != 1 {
		tb.Fatalf("approvals: %+v %v", open, err)
	}
	d.Approval = open.Items[0].ID
	draft, err := on.StartDraft(ctx, admin, domain.DraftRequest{Query: "collect the figures " + Hostile})
	if err != nil {
		tb.Fatal(err)
	}
	for draft.State == domain.DraftPlanning {
		select {
		case <-ctx.Done():
			tb.Fatalf("the draft is not finished: %+v", draft)
		case <-time.After(10 * time.Millisecond):
		}
		if draft, err = on.Draft(ctx, draft.ID); err != nil {
			tb.Fatal(err)
		}
	}
	d.Draft = draft.ID
	Plan(
		tb,
		on,
		admin,
		"id: relay\nnodes:\n  answer: {type: agent, agent: desk, input: {question: \"${input}\"}}\n"+
			"  count: {type: agent, agent: accountant, needs: [answer]}\n",
	)
	Run(tb, on, admin, "relay", `"what is 6*7"`)
	passed, err := on.HandoffsOf(ctx, domain.HandoffFilter{From: "desk", To: "accountant", Query: "from:desk to:accountant"})
	if err != nil || len(passed.Items) == 0 {
		tb.Fatalf("handoffs: %+v %v", passed, err)
	}
	d.Handoff = passed.Items[0]
	act, err := on.StartBulk(
		ctx,
		admin,
		domain.BulkRequest{Action: domain.ActionLabel, Query: "plan:report", Labels: map[string]string{"team": "books"}, Reason: Hostile},
	)
	if err != nil {
		tb.Fatal(err)
	}
	d.Bulk = act.ID
	// The circuit of the host at which ledger fails is open, and a bulk operation waits for it.
	on.OpenCircuit(tb, refusing)
	if act, err = on.StartBulk(ctx, admin, domain.BulkRequest{Action: domain.ActionResume, Query: "status:failed plan:ledger",
		Canary: true, Tool: domain.CircuitName("http", refusing), Reason: "when it is up again"}); err != nil {
		tb.Fatal(err)
	}
	d.Waiter = act.ID
	plan, cron, zone := "report", "0 3 1 1 *", "Europe/Madrid"
	labels := map[string]string{"note": Hostile}
	if _, err := on.CreateSchedule(ctx, apitypes.ScheduleCreate{Key: "yearly",
		ScheduleChange: apitypes.ScheduleChange{Plan: &plan, Cron: &cron, TimeZone: &zone, Labels: &labels}}); err != nil {
		tb.Fatal(err)
	}
	d.events(ctx, tb, on, admin)
	d.budgets(tb, on)
	d.damage(tb, on, admin)
	return d
}

// events adds a hook with two deliveries, a signal that is kept, and a run that waits for another one.
func (d *Seeded) events(ctx context.Context, tb testing.TB, on Furnishing, admin domain.Actor) {
	tb.Helper()
	plan, scheme, secret, filter := "report", domain.HookGitHub, "GITHUB", "body.action == 'published' // "+Hostile
	labels := map[string]string{"note": Hostile}
	if _, err := on.CreateHook(ctx, apitypes.HookCreate{Key: "releases", HookEdit: apitypes.HookEdit{Plan: &plan, Scheme: &scheme,
		Secret: &secret, Filter: &filter, Labels: &labels}}); err != nil {
		tb.Fatal(err)
	}
	sent, err := on.SendSignal(ctx, apitypes.SignalCreate{Name: "returned.7", Key: Hostile[:25], Data: domain.RawJSON(`{"note": "<b>"}`)})
	if err != nil {
		tb.Fatal(err)
	}
	d.Signal, d.Delivery = sent.ID, domain.NewID()
	Plan(tb, on, admin, `
id: order
nodes:
  paid: {wait: {event: paid.42, key: "a & b", timeout: 2d}}
  again: {wait: {event: paid.42}, needs: [paid]}
`)
	d.Waits = Awaits(tb, on, admin, "order")
	now := time.Now().UnixMicro()
	on.Damage(tb, fmt.Sprintf(deliveries, d.Delivery, "accepted", "", "", 1, d.Completed.ID, now-2,
		`{"action": "published", "note": "<i>"}`)+
		fmt.Sprintf(deliveries, domain.NewID(), "refused", "hook.signature", "the signature is wrong", 0, "", now-1, "")+
		fmt.Sprintf(deliveries, domain.NewID(), "refused", "invalid", "no <b>input</b>", 1, "", now, "{}"))
}

// Awaits starts a run that waits for a signal, and returns when it waits.
func Awaits(tb testing.TB, on Furnishing, admin domain.Actor, plan string) domain.Run {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	run, err := on.Start(ctx, admin, domain.StartRequest{Plan: plan})
	for err == nil && run.WaitReason != domain.WaitSignal {
		select {
		case <-ctx.Done():
			tb.Fatalf("run %s does not wait for a signal: %s", run.ID, run.Status)
		case <-time.After(10 * time.Millisecond):
		}
		var detail domain.RunDetail
		detail, err = on.Detail(ctx, run.ID)
		run = detail.Run
	}
	if err != nil {
		tb.Fatal(err)
	}
	return run
}

// deliveries inserts a delivery to the hook of events.
const deliveries = `
INSERT INTO hook_deliveries (public_id, hook_id, key, event, state, reason, message, size, remote, verified, run_id, signal, replay_of,
                             received_at)
SELECT '%[1]s', h.id, '%[1]s', '%[1]s', '%[2]s', '%[3]s', '%[4]s', 38, '192.0.2.7', %[5]d,
       coalesce((SELECT r.id FROM runs AS r WHERE r.public_id = '%[6]s'), 0), '', '', %[7]d FROM hooks AS h WHERE h.key = 'releases';
INSERT INTO hook_contents (delivery_id, headers, body)
SELECT d.id, '{"content-type": "application/json", "x-github-event": "release"}', '%[8]s'
FROM hook_deliveries AS d WHERE d.public_id = '%[1]s';
`

// damage adds two runs that waited for an approval when the disk failed. One has lost the result of
// its payment, the other its input.
func (d *Seeded) damage(tb testing.TB, on Furnishing, admin domain.Actor) {
	tb.Helper()
	Plan(tb, on, admin, `
id: dispatch
name: Dispatch
nodes:
  collect: {type: set, input: {order: "4711", weight: 12}}
  pay: {type: set, effect: unsafe, input: "receipt 4711"}
  book: {type: set, effect: idempotent, input: "parcel 42"}
  pause: {type: wait, input: {for: 10ms}}
  gate: {type: approval, input: {message: "Send the parcel?"}}
  send: {type: log, input: "sent"}
edges: [{from: collect, to: pay}, {from: pay, to: book}, {from: book, to: pause}, {from: pause, to: gate}, {from: gate, to: send}]
`)
	d.Damaged, d.Halved = Run(tb, on, admin, "dispatch", `{"order": "4711"}`), Run(tb, on, admin, "dispatch", `{"order": "4712"}`)
	of := func(r domain.Run) string { return "(SELECT id FROM runs WHERE public_id = '" + r.ID + "')" }
	on.Damage(tb, `UPDATE step_results SET output = '"receipt 4712"' WHERE node = 'pay' AND final = 1 AND run_id = `+of(d.Damaged)+`;
UPDATE run_details SET input = '{"order": "47' WHERE run_id = `+of(d.Halved))
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	for _, r := range []*domain.Run{&d.Damaged, &d.Halved} {
		if detail, err := on.Detail(ctx, r.ID); err != nil || detail.Damage == nil { // reading the run detects the damage
			tb.Fatalf("run %s is not damaged: %+v %v", r.ID, detail.Damage, err)
		}
		for { // quarantine withdraws the approval request of the run
			list, err := on.Approvals(ctx, domain.ApprovalFilter{Run: r.ID, Status: "cancelled"})
			if err != nil {
				tb.Fatalf("approvals: %v", err)
			}
			if len(list.Items) > 0 {
				d.TakenBack = list.Items[0].ID
				break
			}
			select {
			case <-ctx.Done():
				tb.Fatalf("run %s is not quarantined", r.ID)
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}

// refusing is a host without a listener, at which the runs of ledger fail.
const refusing = "127.0.0.1:9"

// furniture returns the pages of the data that Furnish added.
func (d Seeded) furniture() []string {
	if d.Draft == "" {
		return nil
	}
	out := []string{
		"/runs/" + d.Damaged.ID + "/fork?at=1",
		"/runs/" + d.Damaged.ID + "/fork?at=3",
		"/runs/" + d.Damaged.ID + "/resume",
		"/runs/" + d.Damaged.ID + "/cancel",
		"/runs/" + d.Damaged.ID + "?step=book&tab=output",
		"/runs/" + d.Damaged.ID + "?step=pay",
		"/runs/" + d.Damaged.ID + "/peek",
		"/runs/" + d.Halved.ID + "/rerun",
		"/runs/" + d.Halved.ID + "/confirm?action=rerun&digest=0",
		"/runs/" + d.Halved.ID + "/peek",
		"/runs?q=waiting:quarantined",
		"/approvals/" + d.TakenBack,
	}
	for _, r := range []domain.Run{d.Damaged, d.Halved} {
		for _, v := range runViews {
			out = append(out, "/runs/"+r.ID+v)
		}
	}
	out = append(
		out,
		"/handoffs/"+url.PathEscape(d.Handoff.ID),
		"/runs/"+d.Handoff.Run+"?view=handoffs&handoff="+url.QueryEscape(d.Handoff.ID),
	)
	return append(
		out,
		"/approvals/"+d.Approval,
		"/approvals/"+d.Approval+"/assign",
		"/plans/drafts/"+d.Draft,
		"/plans/drafts/"+d.Draft+"/discard",
		"/bulk/"+d.Bulk,
		"/bulk/"+d.Waiter,
		"/bulk/"+d.Waiter+"?status=pending",
		"/agents/tools/http/enable?host="+refusing,
		"/schedules/yearly",
		"/schedules/yearly/edit",
		"/schedules/yearly/pause",
		"/schedules/yearly/delete",
		"/schedules/yearly/backfill",
		"/runs/new?schedule=yearly",
		"/events/hooks/releases",
		"/events/hooks/releases?status=refused",
		"/events/hooks/releases/edit",
		"/events/hooks/releases/pause",
		"/events/hooks/releases/delete",
		"/events/hooks/releases/replay?status=refused",
		"/events/hooks/releases/replay?delivery="+d.Delivery,
		"/events/deliveries/"+d.Delivery,
		"/events/signals?status=waiting",
		"/events/signals/"+d.Signal,
		"/events/waits",
		"/runs/"+d.Waits.ID,
		"/runs/"+d.Waits.ID+"?step=paid&tab=output",
	)
}

// StoreDraft stores a draft that no planner works on, like one of an earlier process.
func StoreDraft(tb testing.TB, s *store.Store, d domain.Draft) {
	tb.Helper()
	by := domain.Actor{Name: d.Actor, Role: d.Role, Source: d.Source}
	create := func(tx *store.Tx) (string, error) { return d.ID, tx.Drafts().Create(d) }
	if _, _, err := s.Do(store.Operation{Name: "start-draft", By: by, At: d.CreatedAt}, create); err != nil {
		tb.Fatal(err)
	}
}
