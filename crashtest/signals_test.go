package crashtest

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// O13, O15: SIGHUP does not end the daemon, and does not apply an invalid configuration. A log
// without a reader does not end it either. SIGTERM lets active steps finish, and a second one ends
// the daemon immediately. The next start continues what was interrupted.
func TestSignals(t *testing.T) {
	t.Parallel()
	bin, dir := build(t), t.TempDir()
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "kairos.yaml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	launch := func(stderr *os.File) *daemon {
		cmd := exec.Command(bin, "serve", "--verbose", "--data", data, "--listen", "127.0.0.1:0", "--config", config)
		cmd.Stderr = stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended already
		b := make([]byte, 1)
		for text := ""; !strings.Contains(text, "is ready at"); text += string(b) {
			if _, err := out.Read(b); err != nil {
				t.Fatalf("no ready line after %q: %v", text, err)
			}
		}
		if err := out.Close(); err != nil { // its output has no reader either
			t.Fatal(err)
		}
		return &daemon{cmd: cmd, api: client.Unix(filepath.Join(data, "kairosd.sock"))}
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d := launch(write)
	for _, f := range []*os.File{read, write} {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(config, []byte("engine: {max_runing: 3}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, _, err := d.api.SavePlan(t.Context(), []byte("id: nap\nnodes: {a: {type: sleep, input: {for: 10m}}}\n"),
		planner.FormatYAML, "", ""); err != nil {
		t.Fatalf("the daemon has ended: %v", err)
	}
	run, err := d.api.Start(t.Context(), domain.StartRequest{Plan: "nap"})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); run.Status != domain.RunRunning; run, err = d.api.FindRun(t.Context(), run.ID) {
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%+v %v", run, err)
		}
	}
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.cmd.Wait() }()
	for over := false; !over; { // the daemon handles the first signal asynchronously
		select {
		case <-ended:
			over = true
		case <-time.After(200 * time.Millisecond):
			_ = d.cmd.Process.Signal(syscall.SIGTERM) // the process may have ended
		}
	}
	// A stop that waits for the step ends with an exit code. A log line without a reader can end the process before the
	// second SIGTERM does.
	if status := d.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
		t.Errorf("a second signal does not stop it at once: %s", d.cmd.ProcessState)
	}
	if err := d.api.Close(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	read, write, err = os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	d = launch(write)
	defer d.kill(t)
	if err := write.Close(); err != nil { // the daemon has its own copy
		t.Fatal(err)
	}
	if run, err = d.api.FindRun(t.Context(), run.ID); err != nil || run.Status.Final() {
		t.Errorf("the run that was cut off is %s: %v", run.Status, err)
	}
	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := read.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	log := bufio.NewScanner(read)
	for log.Scan() {
		if strings.Contains(log.Text(), "configuration reloaded") {
			return
		}
	}
	t.Fatalf("the signal is not answered: %v", log.Err())
}

// A step that takes longer than half of the stop time finishes before the daemon ends.
func TestAStopLetsStepsFinish(t *testing.T) {
	if testing.Short() {
		t.Skip("a step runs for 12 seconds")
	}
	t.Parallel()
	bin, dir := build(t), t.TempDir()
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "kairos.yaml")
	if err := errors.Join(os.Mkdir(data, 0o700), os.WriteFile(config, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	d := start(t, bin, data, config)
	if _, _, _, _, err := d.api.SavePlan(t.Context(), []byte("id: nap\nnodes: {a: {type: sleep, input: {for: 12s}}}\n"),
		planner.FormatYAML, "", ""); err != nil {
		t.Fatal(err)
	}
	run, err := d.api.Start(t.Context(), domain.StartRequest{Plan: "nap"})
	if err != nil {
		t.Fatal(err)
	}
	if err := follow(t.Context(), d.api, run.ID, func(r domain.Run) bool { return r.Status == domain.RunRunning }); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
	ended := time.Now()
	if err := d.api.Close(); err != nil {
		t.Error(err)
	}
	d = start(t, bin, data, config)
	defer d.kill(t)
	if run, err = d.api.FindRun(t.Context(), run.ID); err != nil || run.Status != domain.RunCompleted || run.EndedAt.After(ended) {
		t.Errorf("the step was cut off: the run is %s, ended %s (the daemon ended %s), %v", run.Status, run.EndedAt, ended, err)
	}
}
