package crashtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// works is a plan that keeps a run active during a test: forty times a durable wait and a value of
// some size.
var works = func() string {
	nodes, edges := "", ""
	for i := range 40 {
		nodes += fmt.Sprintf("  wait%[1]d: {type: wait, input: {for: 20ms}}\n  set%[1]d: {type: set, input: \"${input}\"}\n", i)
		edges += fmt.Sprintf("  - {from: wait%[1]d, to: set%[1]d}\n", i)
		if i > 0 {
			edges += fmt.Sprintf("  - {from: set%d, to: wait%d}\n", i-1, i)
		}
	}
	return "id: works\nnodes:\n" + nodes + "edges:\n" + edges
}()

// ext4 mounts a separate disk, if this process has the permission.
func ext4(t *testing.T) string {
	t.Helper()
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	for _, command := range [][]string{{"truncate", "-s", "96M", image}, {"mkfs.ext4", "-q", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Skipf("a disk cannot be mounted here: %v: %s", err, out)
		}
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// busy starts runs that keep working, and waits until each has made progress.
func busy(ctx context.Context, t *testing.T, d *daemon, n int) (ids []string) {
	t.Helper()
	if _, _, _, problems, err := d.api.SavePlan(ctx, []byte(works), planner.FormatYAML, "upload", ""); err != nil {
		t.Fatal(err, problems)
	}
	for range n {
		r, err := d.api.Start(ctx, domain.StartRequest{Plan: "works", Input: fmt.Appendf(nil, `{"text": %q}`, letters(3000))})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	for _, id := range ids {
		if err := follow(ctx, d.api, id, func(r domain.Run) bool { return r.Steps > 2 }); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// poke makes the daemon write something, even if its runs are done, as they may be on a loaded
// machine. It ignores the result.
func poke(ctx context.Context, d *daemon) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	d.api.Retry = nil
	_, _ = d.api.Start(ctx, domain.StartRequest{Plan: "works", Input: []byte(`{"text": "last"}`)})
}

// over waits until the runs and all their work have ended.
func over(ctx context.Context, t *testing.T, d *daemon, ids []string) {
	t.Helper()
	for _, id := range ids {
		if r, err := d.api.Wait(ctx, id); err != nil || r.Status != domain.RunCompleted || r.Steps != 80 {
			log, _ := os.ReadFile(d.cmd.Stderr.(*os.File).Name())
			t.Fatalf("run %s is %s after %d steps: %v %v\n%s", id, r.Status, r.Steps, r.Error, err, log)
		}
	}
}

// A file system finds an error and becomes read-only while the daemon works, as Linux does it. The
// daemon exits with 74. When the disk is repaired, it has everything that it acknowledged, and its
// runs continue (G14).
func TestADiskThatBecomesReadOnly(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	disk := ext4(t)
	data := filepath.Join(disk, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	bin, config := build(t), configFile(t, "")
	logs := filepath.Join(disk, "log") // start writes it next to the data
	if err := os.Symlink(filepath.Join(t.TempDir(), "log"), logs); err != nil {
		t.Fatal(err)
	}
	d := start(t, bin, data, config)
	if _, _, _, problems, err := d.api.SavePlan(ctx, []byte(keeps), planner.FormatYAML, "upload", ""); err != nil {
		t.Fatal(err, problems)
	}
	acked, err := startRuns(ctx, d, 5)
	if err != nil {
		t.Fatal(err)
	}
	ids := busy(ctx, t, d, 16)
	if out, err := exec.Command("mount", "-o", "remount,abort", disk).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	poke(ctx, d)
	if code := ended(t, d); code != 74 {
		t.Errorf("exit %d, want 74", code)
	}
	// The disk is repaired: its journal is replayed when it is mounted.
	image, err := exec.Command("findmnt", "-n", "-o", "SOURCE", disk).Output()
	if err != nil {
		t.Fatal(err)
	}
	device := string(image[:len(image)-1])
	again := t.TempDir()
	hold, err := os.Open(device) // the device stays after its last mount ends
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	if err := syscall.Unmount(disk, 0); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", device, again).CombinedOutput(); err != nil {
		t.Fatalf("mount it again: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(again, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil { // needed by the first clean-up
		t.Fatal(err)
	}
	d = start(t, bin, filepath.Join(again, "data"), config)
	over(ctx, t, d, ids)
	d.kill(t)
	allThere(t, filepath.Join(again, "data", "kairos.db"), acked)
	proof.Figure(t, "environment faults", 1)
}

// The data directory is moved away while the daemon works. The daemon exits with 74, and another
// daemon continues at the new place.
func TestADirectoryThatIsMovedAway(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	dir := t.TempDir()
	data, moved := filepath.Join(dir, "data"), filepath.Join(dir, "moved")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	bin, config := build(t), configFile(t, "")
	d := start(t, bin, data, config)
	if _, _, _, problems, err := d.api.SavePlan(ctx, []byte(keeps), planner.FormatYAML, "upload", ""); err != nil {
		t.Fatal(err, problems)
	}
	acked, err := startRuns(ctx, d, 5)
	if err != nil {
		t.Fatal(err)
	}
	ids := busy(ctx, t, d, 16)
	if err := os.Rename(data, moved); err != nil {
		t.Fatal(err)
	}
	poke(ctx, d)
	if code := ended(t, d); code != 74 {
		t.Errorf("exit %d, want 74", code)
	}
	d = start(t, bin, moved, config)
	over(ctx, t, d, ids)
	d.kill(t)
	allThere(t, filepath.Join(moved, "kairos.db"), acked)
	proof.Figure(t, "environment faults", 1)
}

// The disk fills up while runs work. None of them fails or loses a step. They wait until there is
// space, and continue without a restart.
func TestRunsWaitForSpace(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	disk := tmpfs(t, 64)
	data := filepath.Join(disk, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(t.TempDir(), "log"), filepath.Join(disk, "log")); err != nil { // it has room
		t.Fatal(err)
	}
	d := start(t, build(t), data, configFile(t, ""))
	if _, _, _, problems, err := d.api.SavePlan(ctx, []byte(keeps), planner.FormatYAML, "upload", ""); err != nil {
		t.Fatal(err, problems)
	}
	ids := busy(ctx, t, d, 16)
	reserve, err := os.Create(filepath.Join(disk, "reserve"))
	if err != nil {
		t.Fatal(err)
	}
	for piece := make([]byte, 64<<10); ; {
		if _, err := reserve.Write(piece); err != nil {
			break // the disk is full
		}
	}
	if err := reserve.Close(); err != nil {
		t.Fatal(err)
	}
	acked, err := startRuns(ctx, d, 500) // the log has its own space
	if domain.CodeOf(err) != domain.CodeNoSpace {
		t.Fatalf("after %d runs on a full disk: %v", len(acked), err)
	}
	if err := os.Remove(reserve.Name()); err != nil {
		t.Fatal(err)
	}
	over(ctx, t, d, ids)
	d.kill(t)
	allThere(t, filepath.Join(data, "kairos.db"), acked)
	proof.Figure(t, "environment faults", 1)
}
