package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// system is an engine under test, open in its own directory.
type system interface {
	// define declares a shape, for a system whose workflows are data. Other systems have workflows
	// in code.
	define(ctx context.Context, s shape) error
	// start begins all runs of a shape. Each executed step calls step.
	start(ctx context.Context, s shape) error
	// wait returns when every run that start began has completed, including those of a killed
	// process.
	wait(ctx context.Context, s shape) error
	close()
}

// opener opens a system. Every executed step with a side effect calls step. resume means that the
// directory was used before.
type opener func(ctx context.Context, dir string, resume bool, step func(run string, i int)) (system, error)

var systems = map[string]opener{
	"kairosd":        openKairosd,
	"kairosd-normal": openKairosdNormal,
	"bare":           openBare,
	"dbos":           openDBOS,
	"goworkflows":    openGoWorkflows,
	"river":          openRiver,
}

// measured is the report of a child process on its standard output.
type measured struct {
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"` // in seconds, user and system
	Steps   int     `json:"steps"`
	Disk    float64 `json:"disk"` // disk writes per second just before and after
}

// coded is a system whose workflows are part of its code.
type coded struct{}

func (coded) define(context.Context, shape) error { return nil }

// measure runs a shape once, after a short warm-up on the same database.
func measure(ctx context.Context, name, dir string, s shape) (measured, error) {
	sys, err := systems[name](ctx, dir, false, func(string, int) {})
	if err != nil {
		return measured{}, err
	}
	defer sys.close()
	warm := s
	warm.name, warm.runs, warm.steps = s.name+"-warm", 1, min(s.steps, 20)
	for range 3 {
		if err := sys.define(ctx, warm); err != nil {
			return measured{}, err
		}
		if err := runAll(ctx, sys, warm); err != nil {
			return measured{}, err
		}
		warm.name += "x"
	}
	rounds := 1
	if s.fan {
		rounds = 5 // one round takes only milliseconds
	}
	before, err := syncRate(dir, 200*time.Millisecond)
	if err != nil {
		return measured{}, err
	}
	var times, cpu []float64
	for i := range rounds {
		s := s
		s.name = fmt.Sprintf("%s-%d", s.name, i)
		if err := sys.define(ctx, s); err != nil {
			return measured{}, err
		}
		begin, spent := time.Now(), cpuTime()
		if err := runAll(ctx, sys, s); err != nil {
			return measured{}, err
		}
		times = append(times, time.Since(begin).Seconds())
		cpu = append(cpu, cpuTime()-spent)
	}
	after, err := syncRate(dir, 200*time.Millisecond)
	return measured{Seconds: median(times), CPU: median(cpu), Steps: s.total(), Disk: (before + after) / 2}, err
}

// cpuTime returns the CPU time of this process in seconds.
func cpuTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func runAll(ctx context.Context, sys system, s shape) error {
	if err := sys.start(ctx, s); err != nil {
		return err
	}
	return sys.wait(ctx, s)
}

// together calls fn for 0..n-1 concurrently and returns the first error.
func together(n int, fn func(i int) error) error {
	var wg sync.WaitGroup
	errs := make(chan error, n)
	for i := range n {
		wg.Go(func() {
			if err := fn(i); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// ledger is a file outside every database that lists the executed steps: one line each, written
// with one call, so that a kill loses none.
type ledger struct{ f *os.File }

func openLedger(path string) (*ledger, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &ledger{f}, err
}

func (l *ledger) step(run string, i int) {
	if _, err := fmt.Fprintf(l.f, "%s/%d\n", run, i); err != nil {
		panic(err)
	}
}

// counted returns how often a ledger lists each step.
func counted(path string) (map[string]int, int, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	m, n := map[string]int{}, 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if line := strings.TrimSpace(sc.Text()); line != "" {
			m[line]++
			n++
		}
	}
	return m, n, nil
}
