package crashtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

const keeps = "id: keeps\nnodes:\n  a: {type: set, input: \"${input}\"}\n"

// tmpfs mounts a small disk, if this process has the permission.
func tmpfs(t *testing.T, mib int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=700", mib)); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kairos.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// startRuns starts runs with large inputs until one is rejected, and returns the acknowledged ones.
func startRuns(ctx context.Context, d *daemon, most int) (acked []string, err error) {
	for i := range most {
		input := make([]byte, 60<<10)
		x := uint32(i + 1)
		for j := range input {
			x = x*1664525 + 1013904223
			input[j] = 'a' + byte(x>>24)%26
		}
		r, err := d.api.Start(ctx, domain.StartRequest{Plan: "keeps", Input: fmt.Appendf(nil, `{"text": %q}`, input)})
		if err != nil {
			return acked, err
		}
		acked = append(acked, r.ID)
	}
	return acked, nil
}

// allThere opens the store and checks that every acknowledged run exists.
func allThere(t *testing.T, path string, acked []string) {
	t.Helper()
	s, err := recovery.Open(context.Background(), path, recovery.Options{}) // it finishes a restore that was interrupted
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, id := range acked {
		r, err := s.Run(context.Background(), id)
		if err != nil || len(r.Input) < 60<<10 {
			t.Errorf("run %s was acknowledged: %d bytes of input, %v", id, len(r.Input), err)
		}
	}
	checks, err := recovery.Verify(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if len(c.Problems) > 0 {
			t.Errorf("%s: %v", c.Name, c.Problems)
		}
	}
}

// A full disk rejects new work and gives the reason, and reading continues. As soon as there is
// space, work is accepted again without a restart.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	disk := tmpfs(t, 42) // 19 for the write-ahead log, 16 for reserve
	data := filepath.Join(disk, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	d := start(t, build(t), data, configFile(t, ""))
	if _, _, _, problems, err := d.api.SavePlan(ctx, []byte(keeps), planner.FormatYAML, "upload", ""); err != nil {
		t.Fatal(err, problems)
	}
	reserve := filepath.Join(disk, "reserve")
	if err := os.WriteFile(reserve, make([]byte, 16<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	acked, err := startRuns(ctx, d, 500)
	if domain.CodeOf(err) != domain.CodeNoSpace {
		t.Fatalf("after %d runs on a full disk: %v", len(acked), err)
	}
	if _, err := d.api.Runs(ctx, domain.RunFilter{Page: domain.Page{Limit: 10}}); err != nil {
		t.Errorf("reading on a full disk: %v", err)
	}
	if err := os.Remove(reserve); err != nil {
		t.Fatal(err)
	}
	more, err := startRuns(ctx, d, 20)
	if err != nil {
		t.Errorf("with space again: %v", err)
	}
	acked = append(acked, more...)
	for _, id := range acked {
		if r, err := d.api.Wait(ctx, id); err != nil || r.Status != domain.RunCompleted {
			t.Fatalf("run %s is %s, %v", id, r.Status, err)
		}
	}
	d.kill(t)
	allThere(t, filepath.Join(data, "kairos.db"), acked)
	t.Logf("%d runs acknowledged around a full disk", len(acked))
	proof.Figure(t, "environment faults", 1)
}

// A disk that kairosd itself has filled can be emptied with kairosd. Deleting runs also needs
// space, so the reserve file keeps some. It survives a crash.
func TestAFullDiskIsEmptied(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	disk := tmpfs(t, 260)
	data := filepath.Join(disk, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(t.TempDir(), "log"), filepath.Join(disk, "log")); err != nil {
		t.Fatal(err)
	}
	config := configFile(t, "retention: {keep: 5}\n")
	d := start(t, build(t), data, config)
	// Small values are stored in the rows, so they are deleted with their runs.
	plan := "id: wide\nnodes:\n"
	for i := range 8 {
		plan += fmt.Sprintf("  n%d: {type: set, input: \"${input}\", needs: [n%d]}\n", i, i-1)
	}
	plan = strings.Replace(plan, ", needs: [n-1]", "", 1)
	if _, _, _, problems, err := d.api.SavePlan(ctx, []byte(plan), planner.FormatYAML, "upload", ""); err != nil {
		t.Fatal(err, problems)
	}
	input := fmt.Appendf(nil, `{"text": %q}`, strings.Repeat("kairos ", 550))
	var last string
	begin := func() error {
		r, err := d.api.Start(ctx, domain.StartRequest{Plan: "wide", Input: input})
		if err == nil {
			last = r.ID
		}
		return err
	}
	over := func() {
		t.Helper()
		if r, err := d.api.Wait(ctx, last); err != nil || r.Status != domain.RunCompleted {
			t.Fatalf("the last run is %s, %v", r.Status, err)
		}
	}
	kept := func() int64 {
		info, err := os.Stat(filepath.Join(data, "kairos.db-reserve"))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	for i := 0; i < 560 || kept() < 24<<20; i++ {
		if err := begin(); err != nil {
			t.Fatalf("run %d: %v", i, err)
		}
		over()
	}
	stranger, err := os.Create(filepath.Join(disk, "stranger"))
	if err != nil {
		t.Fatal(err)
	}
	for piece := make([]byte, 64<<10); err == nil; {
		_, err = stranger.Write(piece)
	}
	if err := stranger.Close(); err != nil {
		t.Fatal(err)
	}
	for err = nil; err == nil; { // the log has its own space
		err = begin()
	}
	if domain.CodeOf(err) != domain.CodeNoSpace || kept() != 0 {
		t.Fatalf("on a full disk, with %d bytes kept: %v", kept(), err)
	}
	d.kill(t)
	d = start(t, build(t), data, config)
	for err = nil; err == nil; {
		err = begin()
	}
	if domain.CodeOf(err) != domain.CodeNoSpace {
		t.Errorf("started again on a full disk: %v", err)
	}
	if i, err := d.api.Server(ctx); err != nil || i.Storage.Needs < 24<<20 {
		t.Errorf("it says %+v, %v", i.Storage, err)
	}
	r, err := d.api.Retain(ctx, "", false)
	if err != nil || r.Runs < 500 {
		t.Fatalf("%d runs were removed, %v", r.Runs, err)
	}
	over() // the daemon was waiting
	if err := begin(); err != nil {
		t.Fatalf("after %d runs were removed: %v", r.Runs, err)
	}
	over()
	d.kill(t)
	proof.Figure(t, "environment faults", 1)
}

// O12: On a full disk, operators must be able to log in: people log in and read every page,
// although nothing can be stored.
func TestPeopleLogInOnAFullDisk(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	disk := tmpfs(t, 42)
	data := filepath.Join(disk, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	d := start(t, build(t), data, configFile(t, ""))
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(method, path string, form url.Values) int {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, d.url+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", d.url)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode
	}
	token, err := os.ReadFile(filepath.Join(data, "setup.token"))
	if err != nil {
		t.Fatal(err)
	}
	person := url.Values{
		"csrf":     {"anonymous"},
		"token":    {strings.TrimSpace(string(token))},
		"name":     {"ana"},
		"password": {"four unrelated words"},
	}
	if code := ask(http.MethodPost, "/setup?"+person.Encode(), person); code != http.StatusSeeOther {
		t.Fatalf("setup: %d", code)
	}
	if _, _, _, problems, err := d.api.SavePlan(ctx, []byte(keeps), planner.FormatYAML, "upload", ""); err != nil {
		t.Fatal(err, problems)
	}
	if err := os.WriteFile(filepath.Join(disk, "reserve"), make([]byte, 16<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	acked, err := startRuns(ctx, d, 500)
	if domain.CodeOf(err) != domain.CodeNoSpace {
		t.Fatalf("after %d runs on a full disk: %v", len(acked), err)
	}
	jar, err = cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser.Jar = jar
	if code := ask(http.MethodPost, "/login", person); code != http.StatusSeeOther {
		t.Fatalf("log in: %d", code)
	}
	for _, path := range []string{"/", "/runs", "/runs/" + acked[0], "/plans", "/approvals", "/audit", "/system", "/system/log", "/me"} {
		if code := ask(http.MethodGet, path, nil); code != http.StatusOK {
			t.Errorf("%s: %d", path, code)
		}
	}
	if err := os.Remove(filepath.Join(disk, "reserve")); err != nil {
		t.Fatal(err)
	}
	d.kill(t)
	allThere(t, filepath.Join(data, "kairos.db"), acked)
	proof.Figure(t, "environment faults", 1)
}

// ended waits for a daemon that ends without a signal, and returns its exit code.
func ended(t *testing.T, d *daemon) int {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- d.cmd.Wait() }()
	select {
	case err := <-done:
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatalf("the daemon ended with %v", err)
		}
		return exit.ExitCode()
	case <-time.After(time.Minute):
		t.Fatal("the daemon goes on")
		return 0
	}
}

// A limit of the file size is an I/O error with an unknown outcome: the daemon stops with exit code
// 74. Restarted without the limit, it has everything that it acknowledged (G14).
func TestAFileSizeLimit(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	data := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	bin, config := build(t), configFile(t, "")
	limited := filepath.Join(t.TempDir(), "limited")
	if err := os.WriteFile(limited, fmt.Appendf(nil, "#!/bin/bash\nulimit -f 4000\nexec %q \"$@\"\n", bin), 0o700); err != nil {
		t.Fatal(err)
	}
	d := start(t, limited, data, config)
	if _, _, _, problems, err := d.api.SavePlan(ctx, []byte(keeps), planner.FormatYAML, "upload", ""); err != nil {
		t.Fatal(err, problems)
	}
	acked, err := startRuns(ctx, d, 500)
	if err == nil {
		t.Fatal("the file grew beyond its limit")
	}
	if code := ended(t, d); code != 74 {
		t.Errorf("exit %d, want 74", code)
	}
	d = start(t, bin, data, config)
	for _, id := range acked {
		if r, err := d.api.Wait(ctx, id); err != nil || r.Status != domain.RunCompleted {
			t.Fatalf("run %s is %s, %v", id, r.Status, err)
		}
	}
	d.kill(t)
	allThere(t, filepath.Join(data, "kairos.db"), acked)
	t.Logf("%d runs acknowledged before the limit", len(acked))
	proof.Figure(t, "environment faults", 1)
}

// If the database is removed or replaced, the daemon stops, because SQLite would keep writing into
// the deleted file.
func TestADatabaseThatIsMovedAway(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			// A file with the same content can be opened without an error.
			content, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path+".other", content, 0o600), os.Rename(path+".other", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			if err := os.Mkdir(data, 0o700); err != nil {
				t.Fatal(err)
			}
			d := start(t, build(t), data, configFile(t, ""))
			if err := harm(filepath.Join(data, "kairos.db")); err != nil {
				t.Fatal(err)
			}
			if code := ended(t, d); code != 74 {
				t.Errorf("exit %d, want 74", code)
			}
			proof.Figure(t, "environment faults", 1)
		})
	}
}

// The start reports a disk that became read-only.
func TestAReadOnlyDisk(t *testing.T) {
	t.Parallel()
	disk := tmpfs(t, 16)
	data := filepath.Join(disk, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	bin, config := build(t), configFile(t, "")
	start(t, bin, data, config).kill(t)
	if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(bin, "serve", "--data", data, "--listen", "127.0.0.1:0", "--config", config).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() < 64 || !strings.Contains(string(out), "read-only") {
		t.Errorf("%v: %s", err, out)
	}
	proof.Figure(t, "environment faults", 1)
}
