// Package bench compares runs of plans on Temporal with workflows of the same shape that are written by hand.
// `make temporal-bench` builds the programs and sets the environment; without it, the benchmark is skipped.
package bench

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/connect"
	"github.com/kairosd/kairosd/temporal/internal/driver"
	"github.com/kairosd/kairosd/temporal/internal/launch"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// programs is the variable with the directory of the programs that `make temporal-bench` builds.
const programs = "KAIROS_TEMPORAL_BIN"

// handWritten is the variable with the address of the server, in a process that is a hand-written worker.
const handWritten = "KAIROS_BENCH_WORKER"

const (
	steps   = 20 // of a run, one after the other
	runs    = 20 // at the same time
	pairs   = 3  // measurements of each side, in turn
	queue   = "kairosd"
	byHand  = "by-hand"
	maxWait = 10 * time.Minute
)

func TestMain(m *testing.M) {
	if address := os.Getenv(handWritten); address != "" {
		if err := work(address); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// chain is the workflow that a person would write in place of the plan: it calls an activity for each step, with the result of
// the previous one.
func chain(ctx workflow.Context, first map[string]any) (map[string]any, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, HeartbeatTimeout: 30 * time.Second})
	last := first
	for range steps {
		if err := workflow.ExecuteActivity(ctx, step, last).Get(ctx, &last); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// step is the activity of a step.
func step(_ context.Context, in map[string]any) (map[string]any, error) {
	return map[string]any{"n": in["n"]}, nil
}

// work executes the hand-written workflow until the process is killed.
func work(address string) error {
	c, err := dial(context.Background(), address)
	if err != nil {
		return err
	}
	w := sdkworker.New(c, byHand, sdkworker.Options{})
	w.RegisterWorkflow(chain)
	w.RegisterActivity(step)
	if err := w.Start(); err != nil {
		return err
	}
	fmt.Println("working")
	select {}
}

func dial(ctx context.Context, address string) (client.Client, error) {
	return client.DialContext(ctx, client.Options{HostPort: address, Namespace: "default",
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
}

// plan returns a plan with the same shape. Its tool does as little as the activity.
func plan() string {
	var b strings.Builder
	b.WriteString("id: chain\nnodes:\n")
	for i := range steps {
		from := "${input.n}"
		if i > 0 {
			from = fmt.Sprintf("${output.s%d.n}", i-1)
		}
		fmt.Fprintf(&b, "  s%d: {type: tool, tool: json, input: {value: {n: %q}}", i, from)
		if i > 0 {
			fmt.Fprintf(&b, ", needs: [s%d]", i-1)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// one is a single version, which starts no others.
type one struct{ version domain.Version }

func (o one) Resolve(context.Context, string) (string, error) { return o.version.Hash, nil }

func (o one) VersionByHash(context.Context, string) (domain.Version, error) { return o.version, nil }

// process starts a program and waits for its first line, which it returns. The program ends with the test.
func process(t *testing.T, env []string, name string, args ...string) (string, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(cmd) })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(name), err)
	}
	return strings.TrimSpace(line), cmd
}

func stop(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()
}

// A side starts one run of one of the two kinds.
type side struct {
	name    string
	worker  func(t *testing.T) *exec.Cmd
	start   func(ctx context.Context) (client.WorkflowRun, error)
	seconds []float64 // per measurement
	events  int64     // of the history of one run
	bytes   int64
}

// measure executes runs at the same time and returns how long that took.
func (s *side) measure(t *testing.T, c client.Client) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	begin := time.Now()
	list := make([]client.WorkflowRun, runs)
	for i := range list {
		var err error
		if list[i], err = s.start(ctx); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
	}
	for _, run := range list {
		if err := run.Get(ctx, nil); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
	}
	took := time.Since(begin).Seconds()
	d, err := c.DescribeWorkflowExecution(ctx, list[0].GetID(), list[0].GetRunID())
	if err != nil {
		t.Fatal(err)
	}
	s.events, s.bytes = d.WorkflowExecutionInfo.HistoryLength, d.WorkflowExecutionInfo.HistorySizeBytes
	return took
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// TestFigures prints how many steps per second 1, 2, and 4 workers execute.
func TestFigures(t *testing.T) {
	bin := os.Getenv(programs)
	if bin == "" {
		t.Skip("make temporal-bench runs this benchmark")
	}
	address, _ := process(t, nil, filepath.Join(bin, "temporal-devserver"), "-listen", "127.0.0.1:0", "-db",
		filepath.Join(t.TempDir(), "t.db"))
	ours, err := connect.Dial(t.Context(), connect.Server{Address: address, Namespace: "default"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	theirs, err := dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	doc, problems := planner.Parse([]byte(plan()), planner.WithFormat(planner.FormatYAML))
	if problems.Err() != nil {
		t.Fatal(problems)
	}
	known := one{domain.Version{PlanID: doc.ID, PlanKey: doc.ID, Number: 1, Hash: doc.Hash, Semantics: walk.Semantics,
		Kind: string(doc.Kind()), Format: string(doc.Format), Source: doc.Source, ByPerson: true}}
	compiled := &driver.Programs{}
	sides := func() []*side {
		return []*side{{name: "plan", worker: func(t *testing.T) *exec.Cmd {
			_, cmd := process(t, nil, filepath.Join(bin, "kairos-temporal"), "worker", "--address", address, "--plaintext")
			return cmd
		}, start: func(ctx context.Context) (client.WorkflowRun, error) {
			in, err := launch.Input(ctx, known, compiled, launch.Request{Hash: doc.Hash, Input: domain.RawJSON(`{"n": 1}`), Actor: "bench",
				Origin: "cli", Now: time.Now(), Key: []byte("bench"), Options: runstate.Options{QuarantineAfter: 3}})
			if err != nil {
				return nil, err
			}
			return ours.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: in.Run.ID, TaskQueue: queue}, wire.RunWorkflow, in)
		}}, {name: "by hand", worker: func(t *testing.T) *exec.Cmd {
			_, cmd := process(t, []string{handWritten + "=" + address}, os.Args[0])
			return cmd
		}, start: func(ctx context.Context) (client.WorkflowRun, error) {
			return theirs.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: byHand}, chain, map[string]any{"n": 1})
		}}}
	}
	fmt.Printf("%d runs at the same time, %d steps each, %d pairs; medians\n", runs, steps, pairs)
	fmt.Println("| workers | plan, steps/s | by hand, steps/s | cost of a step, ratio | least and greatest ratio |")
	fmt.Println("| --- | --- | --- | --- | --- |")
	var last []*side
	for _, n := range []int{1, 2, 4} {
		last = sides()
		var ratios []float64
		var workers []*exec.Cmd
		for _, s := range last {
			for range n {
				workers = append(workers, s.worker(t))
			}
			s.measure(t, ours) // fills caches
		}
		for range pairs {
			for _, s := range last {
				s.seconds = append(s.seconds, s.measure(t, ours))
			}
			k := len(ratios)
			ratios = append(ratios, last[0].seconds[k]/last[1].seconds[k])
		}
		rate := func(s *side) float64 { return runs * steps / median(s.seconds) }
		fmt.Printf("| %d | %.0f | %.0f | %.2f | %.2f to %.2f |\n", n, rate(last[0]), rate(last[1]), median(ratios), slices.Min(ratios),
			slices.Max(ratios))
		for _, w := range workers {
			stop(w)
		}
	}
	a := startAlone(t, bin)
	var rates []float64
	for range pairs {
		rates = append(rates, a.measure(t))
	}
	fmt.Printf("one kairosd without Temporal, in one process: %.0f steps/s\n", median(rates))
	fmt.Printf("| | plan | by hand |\n| --- | --- | --- |\n")
	fmt.Printf("| history events per step | %.1f | %.1f |\n", float64(last[0].events)/steps, float64(last[1].events)/steps)
	fmt.Printf("| history bytes per step | %d | %d |\n", last[0].bytes/steps, last[1].bytes/steps)
}
