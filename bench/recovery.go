package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// recovery is W5: runs that are in flight when the process is killed, and that the next process
// finishes. The process is killed at step killAt.
var recovery = struct {
	shape
	killAt int
}{shape{name: "W5", runs: 200, steps: 10}, 800}

func ledgerIn(dir string) string { return filepath.Join(dir, "ledger") }

// die starts all runs and kills its own process in the middle.
func die(ctx context.Context, name, dir string) error {
	l, err := openLedger(ledgerIn(dir))
	if err != nil {
		return err
	}
	steps := make(chan struct{}, recovery.killAt)
	begun := make(chan struct{}) // no step starts before every run is durable
	kill := func(run string, i int) {
		<-begun
		l.step(run, i)
		if i < 0 {
			return
		}
		select {
		case steps <- struct{}{}:
		default:
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	sys, err := systems[name](ctx, dir, false, kill)
	if err != nil {
		return err
	}
	if err := sys.define(ctx, recovery.shape); err != nil {
		return err
	}
	if err := sys.start(ctx, recovery.shape); err != nil {
		return err
	}
	close(begun)
	if err := sys.wait(ctx, recovery.shape); err != nil {
		return err
	}
	return fmt.Errorf("%s finished before it could be killed", name)
}

// finish continues the runs of a killed process and reports when every run has ended.
func finish(ctx context.Context, name, dir string) error {
	l, err := openLedger(ledgerIn(dir))
	if err != nil {
		return err
	}
	sys, err := systems[name](ctx, dir, true, l.step)
	if err != nil {
		return err
	}
	if err := sys.wait(ctx, recovery.shape); err != nil {
		return err
	}
	fmt.Println("done")
	return nil
}

// recovered is the result of a recovery, measured from outside.
type recovered struct {
	seconds float64 // since the start of the process
	twice   int     // steps executed more than once
	missing int     // steps that were never executed
}

func measureRecovery(ctx context.Context, name string) (recovered, error) {
	var r recovered
	dir, err := os.MkdirTemp(*dirFlag, "bench-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	if out, err := child(ctx, "-child", name, "-phase", "die", "-at", dir).CombinedOutput(); err == nil ||
		!strings.Contains(err.Error(), "killed") {
		return r, fmt.Errorf("%s should have been killed: %v %s", name, err, out)
	}
	cmd := child(ctx, "-child", name, "-phase", "finish", "-at", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return r, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return r, err
	}
	done := false
	for sc := bufio.NewScanner(out); sc.Scan(); {
		if sc.Text() == "done" {
			done = true
			r.seconds = time.Since(begin).Seconds()
			cmd.Process.Kill()
			break
		}
	}
	cmd.Wait()
	if !done {
		return r, fmt.Errorf("%s did not finish its runs", name)
	}
	lines, _, err := counted(ledgerIn(dir))
	if err != nil {
		return r, err
	}
	executed := 0
	for line, n := range lines {
		if strings.HasSuffix(line, "/-1") {
			continue
		}
		executed++
		if n > 1 {
			r.twice++
		}
	}
	r.missing = recovery.total() - executed
	return r, nil
}
