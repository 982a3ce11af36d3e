package servertest

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/temporal/internal/connect"
)

// kairosd is the control plane, with a client of its API.
type kairosd struct {
	*client.Client
	s       *server
	dir     datadir.Dir
	process *exec.Cmd
	keys    []string // the payload keys
	ready   string   // the line that it printed
}

// kairosd starts the control plane on an empty data directory.
func (s *server) kairosd() *kairosd {
	s.t.Helper()
	k := &kairosd{s: s, dir: datadir.Dir(filepath.Join(s.dir, "data")), keys: []string{secret}}
	k.Client = client.Unix(k.dir.Socket())
	k.up()
	return k
}

func (k *kairosd) up() {
	k.s.t.Helper()
	k.process, k.ready = start(k.s.t, filepath.Join(k.s.bin, "kairos-temporal"), "serve", "--address", k.s.address, "--data", string(k.dir),
		"--config", k.s.configWith(k.keys...), "--listen", "127.0.0.1:0")
}

// kill ends the control plane at once.
func (k *kairosd) kill() {
	k.s.t.Helper()
	if err := k.process.Process.Kill(); err != nil {
		k.s.t.Fatal(err)
	}
	_ = k.process.Wait() // it was killed
}

func (k *kairosd) save(src string) domain.Version {
	k.s.t.Helper()
	_, v, _, problems, err := k.SavePlan(k.s.t.Context(), []byte(src), planner.FormatYAML, "", "")
	if err != nil {
		k.s.t.Fatal(err, problems)
	}
	return v
}

func (k *kairosd) begin(v domain.Version) domain.Run {
	k.s.t.Helper()
	run, err := k.Start(k.s.t.Context(), domain.StartRequest{Plan: v.PlanKey, Input: domain.RawJSON(`{"amount": 5}`)})
	if err != nil {
		k.s.t.Fatal(err)
	}
	return run
}

// until reads a run until it has a status and a reason of its wait.
func (k *kairosd) until(run string, status domain.RunStatus, reason domain.WaitReason) domain.Run {
	k.s.t.Helper()
	var last domain.Run
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if last, err = k.FindRun(k.s.t.Context(), run); err == nil && last.Status == status && last.WaitReason == reason {
			return last
		}
	}
	k.s.t.Fatalf("run %s is %s %s %q, %v; want %s %s", run, last.Status, last.WaitReason, last.Headline, err, status, reason)
	return last
}

// act performs an action on a run.
func (k *kairosd) act(run string, action domain.Action, more ...func(*domain.ActionRequest)) domain.Run {
	k.s.t.Helper()
	req := domain.ActionRequest{Run: run, Action: action}
	for _, set := range more {
		set(&req)
	}
	after, err := k.Act(k.s.t.Context(), req)
	if err != nil {
		k.s.t.Fatalf("%s: %v", action, err)
	}
	return after
}

// approve approves the only open request of a run.
func (k *kairosd) approve(run string) {
	k.s.t.Helper()
	list, err := k.Approvals(k.s.t.Context(), domain.ApprovalFilter{Run: run, Status: "pending"})
	if err != nil || len(list.Items) != 1 {
		k.s.t.Fatalf("%d requests, %v", len(list.Items), err)
	}
	p, err := k.Decide(k.s.t.Context(), domain.DecideRequest{Approval: list.Items[0].ID, Approve: true, Digest: list.Items[0].Digest})
	if err != nil || p.Status != "approved" {
		k.s.t.Fatalf("decide: %+v, %v", p, err)
	}
}

// rows returns the rows of a run, one word each.
func (k *kairosd) rows(run string) string {
	k.s.t.Helper()
	list, err := k.Journal(k.s.t.Context(), run)
	if err != nil {
		k.s.t.Fatal(err)
	}
	var words []string
	for i, r := range list {
		if r.Seq != int64(i)+1 {
			k.s.t.Errorf("row %d of run %s has the number %d", i+1, run, r.Seq)
		}
		words = append(words, strings.Trim(string(r.Kind)+":"+r.Node, ":"))
	}
	return strings.Join(words, " ")
}

// paymentOf is the plan of (*server).payment, with a second payment after a pause.
func paymentOf(b *bank, ask bool) string {
	plan := `
id: payment
nodes:
  pay: {type: tool, tool: http, input: {method: POST, url: "` + b.URL + `/payments", body: {amount: "${input.amount}"}}}
  pause: {type: wait, input: {for: 1s}}
  again: {type: tool, tool: http, input: {method: POST, url: "` + b.URL + `/payments", body: {amount: "${input.amount}"}}}
  end: {type: set, input: {paid: "${input.amount}"}}
edges: [{from: pay, to: pause}, {from: pause, to: again}, {from: again, to: end}]
start: pay
`
	if ask {
		plan = strings.Replace(plan, "start: pay", "start: ask", 1)
		plan = strings.Replace(plan, "nodes:", "nodes:\n  ask: {type: approval, input: {message: \"Pay ${input.amount}?\"}}", 1)
		plan = strings.Replace(plan, "edges: [", "edges: [{from: ask, to: pay}, ", 1)
	}
	return plan
}

// Runs are started and controlled through kairosd's API, and workers execute them. The record is complete.
func TestTheControlPlane(t *testing.T) {
	s, b := startServer(t), openBank(t)
	k := s.kairosd()
	s.worker(s.config())
	v := k.save(paymentOf(b, true))
	run := k.begin(v)
	k.until(run.ID, domain.RunWaiting, domain.WaitApproval)
	if got := k.act(run.ID, domain.ActionPause); !got.Paused {
		t.Errorf("a paused run is %+v", got)
	}
	k.act(run.ID, domain.ActionUnpause)
	k.approve(run.ID)
	end := k.until(run.ID, domain.RunCompleted, "")
	if string(end.Output) != `{"paid":5}` || b.payments.Load() != 2 {
		t.Errorf("output %s, %d payments", end.Output, b.payments.Load())
	}
	want := "wait:ask action action resolve:ask result:ask intent:pay result:pay wait:pause " +
		"result:pause intent:again result:again result:end"
	if got := k.rows(run.ID); got != want {
		t.Errorf("the rows are\n%s\nand not\n%s", got, want)
	}
	fork := k.act(run.ID, domain.ActionFork, func(r *domain.ActionRequest) { r.At = 5 })
	if end := k.until(fork.ID, domain.RunCompleted, ""); end.ForkedFrom != run.ID || b.payments.Load() != 4 {
		t.Errorf("the fork is %+v after %d payments", end.Lineage, b.payments.Load())
	}
	if raw := s.stored(); bytes.Contains(raw, []byte("payments")) {
		t.Error("the server has values of runs without encryption")
	} else if !bytes.Contains(raw, []byte(run.ID)) {
		t.Error("the files of the server do not contain the run")
	}
	other := k.begin(v)
	k.until(other.ID, domain.RunWaiting, domain.WaitApproval)
	if got := k.act(other.ID, domain.ActionCancel); got.Status != domain.RunCancelled {
		t.Errorf("a cancelled run is %s", got.Status)
	}
	k.act(other.ID, domain.ActionResume)
	k.until(other.ID, domain.RunWaiting, domain.WaitApproval)
	k.approve(other.ID)
	k.until(other.ID, domain.RunCompleted, "")
	k.act(other.ID, domain.ActionDelete)
	if b.payments.Load() != 6 {
		t.Errorf("%d payments", b.payments.Load())
	}
}

// kairosd is killed while runs are active. They continue without it, and end when it has stored their rows.
func TestRunsContinueWhileKairosdIsDown(t *testing.T) {
	s, b := startServer(t), openBank(t)
	k := s.kairosd()
	s.worker(s.config())
	v := k.save(paymentOf(b, false))
	const runs = 10
	var ids []string
	for range runs {
		ids = append(ids, k.begin(v).ID)
	}
	for range runs {
		<-b.booked // the first payment of each
	}
	k.kill()
	for range runs {
		<-b.booked // the second ones, although kairosd is down
	}
	k.up()
	for _, id := range ids {
		k.until(id, domain.RunCompleted, "")
		want := "intent:pay result:pay wait:pause result:pause intent:again result:again " +
			"result:end"
		if got := k.rows(id); got != want {
			t.Errorf("the rows are\n%s\nand not\n%s", got, want)
		}
	}
	if n := b.payments.Load(); n != 2*runs {
		t.Errorf("%d payments", n)
	}
}

// A worker is killed in a payment. The step is resolved through kairosd.
func TestADoubtIsResolvedThroughKairosd(t *testing.T) {
	s, b := startServer(t), openBank(t)
	b.slow.Store(true)
	k := s.kairosd()
	first := s.worker(s.config())
	run := k.begin(k.save(paymentOf(b, false)))
	<-b.booked
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	b.slow.Store(false)
	s.worker(s.config())
	k.until(run.ID, domain.RunWaiting, domain.WaitInDoubt)
	if _, err := k.Resolve(t.Context(), domain.ResolveRequest{Run: run.ID, Node: "pay", Visit: 1, Item: -1, Attempt: 1, Action: "happened",
		Output: domain.RawJSON("{}")}); err != nil {
		t.Fatal(err)
	}
	k.until(run.ID, domain.RunCompleted, "")
	if n := b.payments.Load(); n != 2 {
		t.Errorf("%d payments", n)
	}
}

// The workflow of a run is terminated. After its next start, kairosd shows the run as lost, and a person releases it.
func TestALostRunWaitsForAPerson(t *testing.T) {
	s, b := startServer(t), openBank(t)
	k := s.kairosd()
	s.worker(s.config())
	run := k.begin(k.save(paymentOf(b, true)))
	k.until(run.ID, domain.RunWaiting, domain.WaitApproval)
	c, err := connect.Dial(t.Context(), connect.Server{Address: s.address, Namespace: "default"},
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.TerminateWorkflow(t.Context(), run.ID, "", "a test"); err != nil {
		t.Fatal(err)
	}
	k.stop()
	k.up()
	lost := k.until(run.ID, domain.RunWaiting, domain.WaitQuarantined)
	if !strings.HasPrefix(lost.Headline, "lost: ") {
		t.Errorf("headline %q", lost.Headline)
	}
	k.act(run.ID, domain.ActionRelease)
	k.until(run.ID, domain.RunWaiting, domain.WaitApproval)
	k.approve(run.ID)
	k.until(run.ID, domain.RunCompleted, "")
	if n := b.payments.Load(); n != 2 {
		t.Errorf("%d payments", n)
	}
}

// An older copy of the database is restored. kairosd fills it from the histories: a run that has ended since, a run that
// waits, and a run that the copy lacks.
func TestARestoredRecordIsFilled(t *testing.T) {
	s, b := startServer(t), openBank(t)
	k := s.kairosd()
	s.worker(s.config())
	v := k.save(paymentOf(b, true))
	ended, waiting := k.begin(v), k.begin(v)
	k.until(ended.ID, domain.RunWaiting, domain.WaitApproval)
	k.until(waiting.ID, domain.RunWaiting, domain.WaitApproval)
	k.stop()
	backup := filepath.Join(s.dir, "backup")
	copyDatabase(t, k.dir.Database(), backup)
	k.up()
	k.approve(ended.ID)
	k.until(ended.ID, domain.RunCompleted, "")
	newer := k.begin(k.save(strings.Replace(paymentOf(b, false), "id: payment", "id: newer", 1)))
	k.until(newer.ID, domain.RunCompleted, "")
	rows := map[string]string{}
	for _, id := range []string{ended.ID, waiting.ID, newer.ID} {
		rows[id] = k.rows(id)
	}
	k.stop()
	copyDatabase(t, backup, k.dir.Database())
	k.up()
	k.until(ended.ID, domain.RunCompleted, "")
	k.until(waiting.ID, domain.RunWaiting, domain.WaitApproval)
	k.until(newer.ID, domain.RunCompleted, "")
	for _, id := range []string{ended.ID, waiting.ID, newer.ID} {
		if got := k.rows(id); got != rows[id] {
			t.Errorf("the rows are\n%s\nand not\n%s", got, rows[id])
		}
	}
	k.approve(waiting.ID)
	k.until(waiting.ID, domain.RunCompleted, "")
	if n := b.payments.Load(); n != 6 {
		t.Errorf("%d payments", n)
	}
}

// stored returns what the server has stored.
func (s *server) stored() (all []byte) {
	s.t.Helper()
	files, err := filepath.Glob(s.db + "*")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, raw...)
	}
	return all
}

// stop stops the control plane.
func (k *kairosd) stop() {
	k.s.t.Helper()
	if err := k.process.Process.Signal(os.Interrupt); err != nil {
		k.s.t.Fatal(err)
	}
	if err := k.process.Wait(); err != nil {
		k.s.t.Fatalf("kairosd stopped with %v", err)
	}
}

// copyDatabase copies a database that is not open, without the files that detect an older copy.
func copyDatabase(t *testing.T, from, to string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(to + suffix); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		f, err := os.Open(from + suffix)
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(f)
		if err == nil {
			err = os.WriteFile(to+suffix, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close() // it was read
	}
}

// A step that names a queue waits for a worker that offers it. That worker executes nothing else.
func TestAStepWaitsForItsQueue(t *testing.T) {
	s := startServer(t)
	k := s.kairosd()
	s.worker(s.config())
	run := k.begin(k.save(`
id: routed
nodes:
  first: {type: tool, tool: json, input: {value: 1}}
  second: {type: tool, tool: json, queue: gpu, needs: [first], input: {value: 2}}
  third: {type: tool, tool: json, needs: [second], input: {value: 3}}
`))
	started := func() bool {
		rows, err := k.Journal(t.Context(), run.ID)
		return err == nil && slices.ContainsFunc(rows, func(e domain.Entry) bool { return e.Node == "first" && e.Final })
	}
	for end := time.Now().Add(time.Minute); !started(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the first step does not end")
		}
	}
	if now, err := k.FindRun(t.Context(), run.ID); err != nil || now.Status != domain.RunRunning {
		t.Fatalf("before a worker offers the queue: %s, %v", now.Status, err)
	}
	start(t, filepath.Join(s.bin, "kairos-temporal"), "worker", "--address", s.address, "--config", s.config(), "--offer", "gpu", "--only")
	k.until(run.ID, domain.RunCompleted, "")
}
