package crashtest

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// attempt starts a daemon that may refuse to start: either it becomes ready, or it ends with an
// exit code and output.
func attempt(t *testing.T, bin, data, config string) (d *daemon, url string, code int, output string) {
	t.Helper()
	cmd := exec.Command(bin, "serve", "--data", data, "--listen", "127.0.0.1:0", "--config", config)
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended already
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "kairosd is ready at "); ok {
			go func() {
				for lines.Scan() { // keep the pipe empty
				}
			}()
			return &daemon{cmd: cmd, api: client.Unix(filepath.Join(data, "kairosd.sock"))}, at, 0, ""
		}
	}
	if exit, ok := errors.AsType[*exec.ExitError](cmd.Wait()); ok {
		code = exit.ExitCode()
	}
	text, err := os.ReadFile(log.Name())
	if err != nil {
		t.Fatal(err)
	}
	return nil, "", code, string(text)
}

// The test damages a file of the database under a running daemon: it truncates the log or the
// shared memory, removes the log, or removes permissions. No acknowledged data is missing without a
// report. Either it is there, or the start fails, or nothing runs until an operator releases it.
func TestFilesDamagedWhileTheDaemonRuns(t *testing.T) {
	t.Parallel()
	cut := func(suffix string, keep int64) func(string) error {
		return func(path string) error {
			info, err := os.Stat(path + suffix)
			if err != nil {
				return err
			}
			return os.Truncate(path+suffix, info.Size()*keep/100)
		}
	}
	harms := map[string]func(path string) error{
		"the log is emptied":               cut("-wal", 0),
		"half of the log is cut off":       cut("-wal", 50),
		"the log is removed":               func(path string) error { return os.Remove(path + "-wal") },
		"the shared memory is emptied":     cut("-shm", 0),
		"the shared memory is removed":     func(path string) error { return os.Remove(path + "-shm") },
		"half of the database is cut off":  cut("", 50),
		"nobody may use the database":      func(path string) error { return os.Chmod(path, 0) },
		"the lock is removed":              func(path string) error { return os.Remove(path + ".lock") },
		"the anchor is emptied":            cut(".anchor", 0),
		"the key is removed":               func(path string) error { return os.Remove(path + ".key") },
		"a byte of the database is turned": turn,
	}
	bin := build(t)
	for name, harm := range harms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			data, config := filepath.Join(t.TempDir(), "data"), configFile(t, "")
			if err := os.Mkdir(data, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(data, "kairos.db")
			d := start(t, bin, data, config)
			if _, _, _, problems, err := d.api.SavePlan(ctx, []byte(keeps), planner.FormatYAML, "upload", ""); err != nil {
				t.Fatal(err, problems)
			}
			d.api.Retry = nil
			acked, err := startRuns(ctx, d, 5)
			if err != nil {
				t.Fatal(err)
			}
			if err := harm(path); err != nil {
				t.Fatal(err)
			}
			more, err := startRuns(ctx, d, 10)
			acked = append(acked, more...)
			t.Logf("%d runs were acknowledged afterwards; then: %v", len(more), err)
			d.kill(t)
			next, _, code, output := attempt(t, bin, data, config)
			if next == nil {
				if code < 64 || output == "" {
					t.Errorf("the next start ends with %d: %s", code, output)
				}
				t.Logf("the next start refuses with %d: %.200s", code, output)
				proof.Figure(t, "environment faults", 1)
				return
			}
			missing := 0
			for _, id := range acked {
				r, err := next.api.FindRun(ctx, id)
				if domain.CodeOf(err) == domain.CodeNotFound {
					missing++
				} else if err != nil || r.PurgedAt.IsZero() && len(r.Input) < 60<<10 {
					t.Errorf("run %s: %d bytes of input, %v", id, len(r.Input), err)
				}
			}
			next.kill(t)
			s, err := store.Open(ctx, path, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			held, err := s.Hold(ctx)
			if err != nil {
				t.Fatal(err)
			}
			checks, err := recovery.Doctor(ctx, s)
			if err != nil {
				t.Fatal(err)
			}
			found := ""
			for _, c := range checks {
				if len(c.Problems) > 0 && c.Name != "space" {
					found += c.Name + ": " + c.Problems[0] + "; "
				}
			}
			if missing > 0 && held == nil && found == "" {
				t.Errorf("%d of %d acknowledged runs are missing and nobody says so", missing, len(acked))
			}
			t.Logf("%d of %d missing, held: %v, found: %s", missing, len(acked), held != nil, found)
			proof.Figure(t, "environment faults", 1)
		})
	}
}

// turn flips the bits of the byte in the middle of a file.
func turn(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	at := len(b) / 2
	_, err = f.WriteAt([]byte{^b[at]}, int64(at))
	return errors.Join(err, f.Close())
}

// A daemon with a low limit of open files keeps working while other clients use all of them. It
// serves new clients when those disconnect.
func TestALowLimitOfOpenFiles(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	data, config := filepath.Join(t.TempDir(), "data"), configFile(t, "")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	bin := build(t)
	limited := filepath.Join(t.TempDir(), "limited")
	if err := os.WriteFile(limited, []byte("#!/bin/bash\nulimit -n 40\nexec "+bin+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	d, url, code, output := attempt(t, limited, data, config)
	if d == nil {
		t.Fatalf("it does not start with 40 files: %d %s", code, output)
	}
	if _, _, _, problems, err := d.api.SavePlan(ctx, []byte(keeps), planner.FormatYAML, "upload", ""); err != nil {
		t.Fatal(err, problems)
	}
	acked, err := startRuns(ctx, d, 3)
	if err != nil {
		t.Fatal(err)
	}
	var crowd []net.Conn
	for range 60 {
		c, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"))
		if err != nil {
			break // no further client is accepted
		}
		crowd = append(crowd, c)
	}
	for range 3 { // some of these requests may be rejected
		more, err := startRuns(ctx, d, 1)
		if acked = append(acked, more...); err != nil {
			t.Logf("while %d strangers are connected: %v", len(crowd), err)
		}
	}
	for _, c := range crowd {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	for {
		more, err := startRuns(ctx, d, 1)
		if acked = append(acked, more...); err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("it does not come back: %v", err)
		}
	}
	for _, id := range acked {
		if r, err := d.api.Wait(ctx, id); err != nil || r.Status != domain.RunCompleted {
			t.Errorf("run %s is %s, %v", id, r.Status, err)
		}
	}
	d.kill(t)
	allThere(t, filepath.Join(data, "kairos.db"), acked)
	proof.Figure(t, "environment faults", 1)
}

// Eight daemons start at the same moment with one new directory. One serves, and seven end with
// exit code 75. A stopped holder keeps the lock. After a killed holder, another daemon can start at
// once.
func TestManyDaemonsForOneDirectory(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	bin, config := build(t), configFile(t, "")
	racers := proof.Size(5, 8)
	var mu sync.Mutex
	var holder *daemon
	var wg sync.WaitGroup
	for range racers {
		wg.Go(func() {
			d, _, code, output := attempt(t, bin, data, config)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case d != nil && holder != nil:
				t.Error("two daemons serve one directory")
			case d != nil:
				holder = d
			case code != 75:
				t.Errorf("a daemon that came too late ends with %d: %s", code, output)
			}
		})
	}
	wg.Wait()
	if holder == nil {
		t.Fatal("nobody serves")
	}
	if err := holder.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if d, _, code, output := attempt(t, bin, data, config); d != nil || code != 75 {
		t.Errorf("beside a stopped holder: %d %s", code, output)
	}
	holder.kill(t)
	start(t, bin, data, config).kill(t)
	proof.Figure(t, "environment faults", 2)
}
