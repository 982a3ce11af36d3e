package crashtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// everything is a plan with a node of each side-effect class, a loop, a list, a retry, a wait, an
// approval, a child run, and a value too large for its row.
const everything = `
id: everything
nodes:
  begin: {type: set, input: {list: [1, 2, 3]}}
  look: {type: http, effect: read, input: {method: GET, url: "URL/read/look"}}
  put: {type: http, effect: idempotent, input: {method: POST, url: "URL/idempotent/put", body: {n: 1}}}
  pay: {type: http, effect: unsafe, input: {method: POST, url: "URL/unsafe/pay", body: {n: 1}}}
  ask: {type: approval, input: {message: "go on?"}}
  big: {type: http, effect: read, needs: [begin], input: {method: GET, url: "URL/read/big"}}
  many: {type: http, effect: idempotent, needs: [begin], foreach: "${output.begin.list}", input: {method: POST, url: "URL/idempotent/many", body: {n: "${item}"}}}
  flaky:
    type: http
    effect: idempotent
    needs: [many]
    retry: {max_attempts: 3, backoff: [10ms]}
    input: {method: POST, url: "URL/idempotent/flaky", body: {n: 1}}
  pause: {type: wait, needs: [many], input: {for: 20ms}}
  again: {type: http, effect: idempotent, max_visits: 3, input: {method: POST, url: "URL/idempotent/again", body: {n: 1}}}
  enough: {type: decision, max_visits: 3}
  child: {type: plan, plan: small, input: {n: 2}}
  end:
    type: set
    needs: [ask, child, big, flaky]
    input: {look: "${output.look.body}", put: "${output.put.body}", pay: "${output.pay.body}", flaky: "${output.flaky.body}", approved: "${output.ask.approved}", child: "${output.child}"}
edges:
  - {from: begin, to: look}
  - {from: look, to: put}
  - {from: put, to: pay}
  - {from: pay, to: ask}
  - {from: pause, to: again}
  - {from: again, to: enough}
  - {from: enough, to: again, condition: "output.again.body.round != 2"}
  - {from: enough, to: child, condition: default}
`

const small = `
id: small
nodes:
  first: {type: http, effect: idempotent, input: {method: POST, url: "URL/idempotent/child", body: {n: 1}}}
  second: {type: set, input: "${output.first.body}"}
edges:
  - {from: first, to: second}
`

// life is a data directory, and the consecutive daemons that use it.
type life struct {
	bin, dir string
	e        *effects
	plans    []string
	out      string // the run's output
	run      string // acknowledged
	cmd      *exec.Cmd
	gone     chan struct{}
	api      *client.Client
	deaths   int
}

var errDied = errors.New("the daemon died")

func (l *life) data() string { return filepath.Join(l.dir, "data") }

// begin starts a daemon, with or without an armed failpoint.
func (l *life) begin(spec string) error {
	cmd := exec.Command(l.bin, "serve", "--data", l.data(), "--listen", "127.0.0.1:0", "--config", filepath.Join(l.dir, "kairos.yaml"))
	cmd.Env = append(os.Environ(), failpoint.Env+"="+spec)
	log, err := os.OpenFile(filepath.Join(l.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	ready := lines.Scan() && strings.HasPrefix(lines.Text(), "kairosd is ready at ")
	gone := make(chan struct{})
	l.cmd, l.gone = cmd, gone
	l.api = client.Unix(filepath.Join(l.data(), "kairosd.sock"))
	l.api.Retry = nil
	go func() {
		for lines.Scan() { // keep the pipe empty
		}
		_ = cmd.Wait() // cmd.ProcessState shows how it ended
		close(gone)
	}()
	if !ready {
		return l.died(errors.New("no ready line"))
	}
	return nil
}

// died reports whether err was caused by the end of the daemon. All its calls have then been
// counted.
func (l *life) died(err error) error {
	select {
	case <-l.gone:
	case <-time.After(time.Minute):
		return fmt.Errorf("the daemon lives: %w", err)
	}
	if !l.cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
		text, _ := os.ReadFile(filepath.Join(l.dir, "log"))
		return fmt.Errorf("the daemon ended by itself (%s): %w\n%s", l.cmd.ProcessState, err, text)
	}
	l.deaths++
	return errors.Join(errDied, l.api.Close())
}

func (l *life) kill() error {
	if err := l.cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-l.gone
	return l.api.Close()
}

// finish acts as people and programs would until the run has ended. It can be called again with
// another daemon, and continues from the current state.
func (l *life) finish(ctx context.Context) error {
	for _, src := range l.plans {
		if _, _, _, problems, err := l.api.SavePlan(ctx, []byte(src), planner.FormatYAML, "upload", ""); err != nil {
			return errors.Join(err, problems.Err())
		}
	}
	r, err := l.api.Start(ctx, domain.StartRequest{Plan: "everything", Key: "the one"})
	if err != nil {
		return err
	}
	if l.run != "" && r.ID != l.run {
		return fmt.Errorf("run %s was acknowledged, and is not there", l.run)
	}
	l.run = r.ID
	for {
		d, err := l.api.Detail(ctx, l.run)
		if err != nil {
			return err
		}
		if d.Run.Status.Final() {
			if d.Run.Status != domain.RunCompleted {
				return fmt.Errorf("the run is %s: %+v", d.Run.Status, d.Run.Error)
			}
			l.out = string(d.Run.Output)
			return nil
		}
		for _, w := range d.Waits {
			switch w.Reason {
			case domain.WaitApproval:
				_, err = l.api.Decide(ctx, domain.DecideRequest{Approval: w.Approval, Approve: true})
			case domain.WaitInDoubt:
				q := domain.ResolveRequest{
					Run:     l.run,
					Node:    w.Node,
					Visit:   w.Visit,
					Item:    w.Item,
					Attempt: lastAttempt(d.Journal, w),
					Action:  "retry",
					Reason:  "it is not in the ledger",
				}
				if l.e.called("/unsafe/"+w.Node) > 0 {
					q.Action, q.Reason = "happened", "it is in the ledger"
					q.Output = domain.RawJSON(fmt.Sprintf(`{"body": {"of": "/unsafe/%s"}}`, w.Node))
				}
				_, err = l.api.Resolve(ctx, q)
			case domain.WaitHeld, domain.WaitQuarantined:
				return fmt.Errorf("the run is %s after one crash", w.Reason)
			}
			if err != nil && domain.CodeOf(err) != domain.CodeConflict {
				return err
			}
		}
		select {
		case <-time.After(10 * time.Millisecond): // the run is active
		case <-ctx.Done():
			return fmt.Errorf("the run does not end: %s %s, waits %+v", d.Run.Status, d.Run.WaitReason, d.Waits)
		}
	}
}

func lastAttempt(journal []domain.Entry, w domain.Wait) int {
	n := 1
	for _, e := range journal {
		if e.Node == w.Node && e.Visit == w.Visit && e.Item == w.Item {
			n = max(n, e.Attempt)
		}
	}
	return n
}

// live runs consecutive daemons with armed failpoints, and then one without, until the run has
// ended and every guarantee is checked.
func (l *life) live(ctx context.Context, specs ...string) error {
	for {
		spec := ""
		if len(specs) > 0 {
			spec, specs = specs[0], specs[1:]
		}
		err := l.begin(spec)
		if err == nil {
			if err = l.finish(ctx); err == nil {
				break
			}
			if !errors.Is(err, errDied) && domain.CodeOf(err) == domain.CodeUnavailable {
				err = l.died(err)
			}
		}
		if !errors.Is(err, errDied) {
			return errors.Join(err, l.kill())
		}
		if err := l.e.settle(ctx); err != nil {
			return err
		}
	}
	if err := l.kill(); err != nil {
		return err
	}
	if err := l.e.check(); err != nil {
		return err
	}
	return l.verify(ctx)
}

// examine opens the remaining database and checks all of it.
func (l *life) verify(ctx context.Context) (err error) {
	s, err := store.Open(ctx, filepath.Join(l.data(), "kairos.db"), store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.RolledBack() {
		return errors.New("a crash looks like a rollback")
	}
	checks, err := recovery.Verify(ctx, s)
	if err != nil {
		return err
	}
	for _, c := range checks {
		if len(c.Problems) > 0 {
			return fmt.Errorf("%s: %s", c.Name, strings.Join(c.Problems, "; "))
		}
	}
	return nil
}

func newLife(t *testing.T, bin, in, name string) *life {
	t.Helper()
	e, s := newEffects(t)
	l := &life{bin: bin, dir: filepath.Join(in, name), e: e}
	for _, src := range []string{small, everything} {
		l.plans = append(l.plans, strings.ReplaceAll(src, "URL", s.URL))
	}
	if err := os.MkdirAll(l.data(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "kairos.yaml"), []byte("tools: {http: {allow_private: [\"127.0.0.0/8\"]}}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// point is the k-th hit of a named point.
type point struct {
	name string
	k    int
}

func (p point) String() string { return fmt.Sprintf("kill=%s:%d", p.name, p.k) }

// points lists every failpoint of an uninterrupted run.
func points(t *testing.T, bin, in string) (all []point, output string) {
	t.Helper()
	l := newLife(t, bin, in, "trace")
	trace := filepath.Join(l.dir, "trace")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := l.live(ctx, "trace="+trace); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	hits := map[string]int{}
	for name := range strings.FieldsSeq(string(b)) {
		hits[name]++
		all = append(all, point{name, hits[name]})
	}
	t.Logf("%d points: %v", len(all), hits)
	return all, l.out
}

// quick lists the failpoints of a normal test run; `make crash` uses all.
var quick = []point{
	{"create.schema", 1},
	{"accept.after", 1},
	{"intent.durable", 3},
	{"exec.after", 4},
	{"commit.before", 9},
	{"commit.after", 12},
	{"anchor.written", 1},
}

// The daemon is killed at every failpoint of a run, at each hit, and started again. All
// acknowledged data is there, the ledger contains every effect as often as its class permits, and
// the outcome equals that of an uninterrupted run (G1 to G8, G12).
func TestKillAtEveryStep(t *testing.T) {
	t.Parallel()
	bin, in := build(t), proof.Dir(t)
	all, want := points(t, bin, in)
	seed := proof.Seed(t)
	r := rand.New(rand.NewPCG(seed, 3))
	type outcome struct{ first, second point }
	var fates []outcome
	if proof.Large() == 0 {
		for _, p := range quick {
			fates = append(fates, outcome{first: p})
		}
	} else {
		for _, p := range all {
			fates = append(fates, outcome{first: p})
		}
		for range proof.Size(0, 100) { // and again during the recovery
			fates = append(fates, outcome{all[r.IntN(len(all))], all[r.IntN(len(all))]})
		}
	}
	var mu sync.Mutex
	deaths, reached := 0, map[string]bool{}
	var wg sync.WaitGroup
	queue := make(chan outcome)
	for range 3 {
		wg.Go(func() {
			for f := range queue {
				specs := []string{f.first.String()}
				if f.second.name != "" {
					specs = append(specs, f.second.String())
				}
				l := newLife(t, bin, in, strings.NewReplacer("=", "-", ":", "-").Replace(strings.Join(specs, "+")))
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				err := l.live(ctx, specs...)
				cancel()
				if err == nil && l.out != want {
					err = fmt.Errorf("the output is %s, without a death it is %s", l.out, want)
				}
				if err != nil {
					text, _ := os.ReadFile(filepath.Join(l.dir, "log"))
					t.Errorf("%s=%s, KAIROS_SEED=%d: %v\n%s", failpoint.Env, strings.Join(specs, " then "), seed, err, text)
					continue
				}
				mu.Lock()
				deaths += l.deaths
				if l.deaths > 0 {
					reached[f.first.name] = true
				}
				mu.Unlock()
				if err := os.RemoveAll(l.dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, f := range fates {
		if !t.Failed() {
			queue <- f
		}
	}
	close(queue)
	wg.Wait()
	t.Logf("died at %v", slices.Sorted(maps.Keys(reached)))
	if deaths < len(fates)/2 {
		t.Errorf("only %d deaths in %d lives: the points are not reached", deaths, len(fates))
	}
	proof.Figure(t, "crash points", deaths)
}
