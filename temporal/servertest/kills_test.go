package servertest

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/client"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/temporal/internal/connect"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// order is a plan with a step of each side-effect class, lists, a retry, a timer, and a child run. Each step has a path of
// its own at the ledger, which ends with the tag of the run.
const order = `
id: order
nodes:
  reserve: {type: http, effect: idempotent, input: {method: POST, url: "URL/idempotent/reserve/${input.tag}"}}
  pay: {type: http, effect: unsafe, input: {method: POST, url: "URL/unsafe/pay/${input.tag}"}}
  parts:
    type: http
    effect: idempotent
    needs: [reserve]
    foreach: [0, 1, 2]
    max_parallel: 2
    input: {method: POST, url: "URL/idempotent/parts/${input.tag}-${item}"}
  fees:
    type: http
    effect: unsafe
    needs: [reserve]
    foreach: [0, 1]
    input: {method: POST, url: "URL/unsafe/fees/${input.tag}-${item}"}
  flaky:
    type: http
    effect: idempotent
    needs: [parts]
    retry: {max_attempts: 5, backoff: [10ms]}
    input: {method: POST, url: "URL/idempotent/${input.tag}/flaky"}
  pause: {type: wait, needs: [pay], input: {for: 500ms}}
  child: {type: plan, plan: tip, needs: [pause], input: {tag: "${input.tag}"}}
  end: {type: set, needs: [child, fees, flaky], input: {child: "${output.child}", paid: "${output.pay.body}"}}
edges: [{from: reserve, to: pay}]
start: reserve
`

const tip = `
id: tip
nodes:
  tip: {type: http, effect: unsafe, input: {method: POST, url: "URL/unsafe/tip/${input.tag}"}}
  end: {type: set, needs: [tip], input: "${output.tip.body}"}
`

// pathsOf are the paths of an order.
func pathsOf(tag string) []string {
	paths := []string{"/idempotent/" + tag + "/flaky"}
	for _, path := range []string{"/idempotent/reserve/%s", "/idempotent/parts/%s-0", "/idempotent/parts/%s-1", "/idempotent/parts/%s-2",
		"/unsafe/pay/%s", "/unsafe/fees/%s-0", "/unsafe/fees/%s-1", "/unsafe/tip/%s"} {
		paths = append(paths, fmt.Sprintf(path, tag))
	}
	return paths
}

// orders are runs of the plan order, by their tags.
type orders struct {
	k    *kairosd
	l    *ledger
	runs map[string]domain.Run
}

func (k *kairosd) orders(l *ledger) *orders {
	k.s.t.Helper()
	k.save(strings.ReplaceAll(tip, "URL", l.URL))
	k.save(strings.ReplaceAll(order, "URL", l.URL))
	return &orders{k, l, map[string]domain.Run{}}
}

func (o *orders) begin(tag string) {
	o.k.s.t.Helper()
	run, err := o.k.Start(o.k.s.t.Context(), domain.StartRequest{Plan: "order", Input: fmt.Appendf(nil, `{"tag": %q}`, tag)})
	if err != nil {
		o.k.s.t.Fatal(err)
	}
	o.runs[tag] = run
}

// attend does what a person does: it looks up each payment in doubt in the ledger, and resolves it. It releases quarantined
// runs. It returns whether all orders have completed.
func (o *orders) attend() bool {
	o.k.s.t.Helper()
	t, k := o.k.s.t, o.k
	list, err := k.Runs(t.Context(), domain.RunFilter{Page: domain.Page{Limit: 100}, Statuses: []domain.RunStatus{domain.RunWaiting}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list.Items {
		d, err := k.Detail(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		if d.Run.WaitReason == domain.WaitQuarantined {
			_, err := k.Resume(t.Context(), domain.ActionRequest{Run: r.ID, Action: domain.ActionRelease, Reason: "a worker was killed"},
				true, false)
			o.refused(r.ID, err)
			continue
		}
		for _, w := range d.Waits {
			if w.Reason == domain.WaitInDoubt {
				o.resolve(d, w)
			}
		}
	}
	for tag, r := range o.runs {
		now, err := k.FindRun(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		if now.Status.Final() && now.Status != domain.RunCompleted {
			t.Fatalf("run %s (%s) is %s: %+v", tag, r.ID, now.Status, now.Error)
		}
		if !now.Status.Final() {
			return false
		}
	}
	return true
}

// refused reports the error of a request, unless the next look at the run shows whether it is needed.
func (o *orders) refused(run string, err error) {
	switch domain.CodeOf(err) {
	case "", domain.CodeConflict, domain.CodeUnavailable:
	default:
		if err != nil {
			o.k.s.t.Errorf("a request to run %s: %v", run, err)
		}
	}
}

// resolve resolves a call in doubt as the ledger shows.
func (o *orders) resolve(d domain.RunDetail, w domain.Wait) {
	o.k.s.t.Helper()
	var input struct{ Tag string }
	if err := json.Unmarshal(d.Run.Input, &input); err != nil {
		o.k.s.t.Fatal(err)
	}
	path := "/unsafe/" + w.Node + "/" + input.Tag
	if w.Item >= 0 {
		path = fmt.Sprintf("%s-%d", path, w.Item)
	}
	q := domain.ResolveRequest{Run: d.Run.ID, Node: w.Node, Visit: w.Visit, Item: w.Item,
		Action: "retry", Reason: "it is not in the ledger"}
	for _, e := range d.Journal {
		if e.Node == w.Node && e.Visit == w.Visit && e.Item == w.Item {
			q.Attempt = max(q.Attempt, e.Attempt)
		}
	}
	if len(o.l.of(path)) > 0 {
		q.Action, q.Reason, q.Output = "happened", "it is in the ledger", fmt.Appendf(nil, `{"body": {"of": %q}}`, path)
	}
	_, err := o.k.Client.Resolve(o.k.s.t.Context(), q)
	o.refused(d.Run.ID, err)
}

// check compares the ledger with the side-effect classes of the steps, and the record with the workflows. It returns the
// number of runs.
func (o *orders) check() (n int) {
	o.k.s.t.Helper()
	t, k := o.k.s.t, o.k
	for tag, r := range o.runs {
		for _, path := range pathsOf(tag) {
			if err := o.l.check(path); err != nil {
				t.Error(err)
			}
		}
		end := k.until(r.ID, domain.RunCompleted, "")
		want := fmt.Sprintf(`{"child":{"of":"/unsafe/tip/%s"},"paid":{"of":"/unsafe/pay/%s"}}`, tag, tag)
		if string(end.Output) != want {
			t.Errorf("run %s: output %s, want %s", tag, end.Output, want)
		}
	}
	c := k.s.dial()
	filter := domain.RunFilter{Page: domain.Page{Limit: 100}}
	for {
		list, err := k.Runs(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Items {
			k.same(c, r.ID)
			if r.PlanKey == "order" || r.PlanKey == "tip" {
				n++
			}
		}
		if filter.Page.After = list.Next; filter.Page.After == "" {
			break
		}
	}
	if n != 2*len(o.runs) {
		t.Errorf("%d runs and child runs, want %d", n, 2*len(o.runs))
	}
	return n
}

// dial connects to the server with the key of the configuration.
func (s *server) dial() client.Client {
	s.t.Helper()
	c, err := connect.Dial(s.t.Context(), connect.Server{Address: s.address, Namespace: "default", Secrets: [][]byte{[]byte(secret)}},
		slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

// same compares the record of a run with the workflow. A worker replays the history for it.
func (k *kairosd) same(c client.Client, id string) {
	k.s.t.Helper()
	t := k.s.t
	held := func(name string, into any) {
		t.Helper()
		v, err := c.QueryWorkflow(t.Context(), id, "", name)
		if err == nil {
			err = v.Get(into)
		}
		if err != nil {
			t.Fatalf("the workflow of run %s: %v", id, err)
		}
	}
	var run domain.Run
	var rows []domain.Entry
	held(wire.RunQuery, &run)
	held(wire.JournalQuery, &rows)
	d, err := k.Detail(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	type facts struct {
		Status domain.RunStatus
		Output string
		Steps  int64
	}
	of := func(r domain.Run) facts { return facts{r.Status, string(r.Output), r.Steps} }
	if diff := cmp.Diff(of(run), of(d.Run)); diff != "" {
		t.Errorf("run %s: its workflow (-) and the record (+) differ:\n%s", id, diff)
	}
	if diff := cmp.Diff(texts(t, rows), texts(t, d.Journal)); diff != "" {
		t.Errorf("rows of run %s: its workflow (-) and the record (+) differ:\n%s", id, diff)
	}
}

// texts returns rows as JSON, without the hashes that the store adds.
func texts(t *testing.T, rows []domain.Entry) (list []string) {
	t.Helper()
	for _, r := range rows {
		r.Hash = ""
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(raw))
	}
	return list
}

// Workers are killed at random moments, and replaced. Every run completes, after a person has resolved its payments in doubt.
// The ledger has each effect as often as its class permits, and the record equals what the workflows hold.
func TestWorkersAreKilledAtRandom(t *testing.T) {
	s, l := startServer(t), openLedger(t)
	k := s.kairosd()
	o := k.orders(l)
	seed := proof.Seed(t)
	t.Logf("KAIROS_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 11))
	workers := []*exec.Cmd{s.worker(s.config()), s.worker(s.config()), s.worker(s.config())}
	kills := 0
	for round := range proof.Size(2, 20) {
		for i := range 4 {
			o.begin(fmt.Sprintf("r%d-%d", round, i))
		}
		kills += o.killing(r, workers, 4)
	}
	if kills == 0 {
		t.Error("no worker was killed")
	}
	proof.Figure(t, "workers killed", kills)
	proof.Figure(t, "runs on Temporal with killed workers", o.check())
}

// finish waits until all orders have completed.
func (o *orders) finish() {
	o.k.s.t.Helper()
	o.killing(rand.New(rand.NewPCG(1, 1)), nil, 0)
}

// killing kills workers after random numbers of calls, at most a number of them, until all orders have completed.
func (o *orders) killing(r *rand.Rand, workers []*exec.Cmd, most int) (kills int) {
	o.k.s.t.Helper()
	t := o.k.s.t
	next := 1 + r.IntN(8)
	look := time.NewTicker(500 * time.Millisecond)
	defer look.Stop()
	late := time.After(3 * time.Minute)
	for {
		select {
		case <-o.l.called:
			if next--; next != 0 || kills == most {
				continue
			}
			time.Sleep(time.Duration(r.Int64N(int64(2 * slowness)))) // the moment of the kill is random
			i := r.IntN(len(workers))
			if err := workers[i].Process.Kill(); err != nil {
				t.Fatal(err)
			}
			workers[i] = o.k.s.worker(o.k.s.config())
			kills++
			next = 1 + r.IntN(8)
		case <-look.C:
			if o.attend() {
				return kills
			}
		case <-late:
			for tag, run := range o.runs {
				if d, err := o.k.Detail(t.Context(), run.ID); err != nil || !d.Run.Status.Final() {
					t.Errorf("run %s (%s) is %s %s, waits %+v, %v\n%s", tag, run.ID, d.Run.Status, d.Run.WaitReason, d.Waits, err,
						strings.Join(texts(t, d.Journal), "\n"))
				}
			}
			t.Fatal("the runs do not end")
		}
	}
}
