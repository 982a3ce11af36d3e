package cli_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/kairosd"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

// Backups of the daemon and of the command are encrypted to the configured recipients, and rotation
// counts them like others. A restore without the private key explains how to restore, and one with
// it works (S27).
func TestBackupsAreEncryptedAsConfigured(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	public, private := keyPair(t)
	data, key := filepath.Join(in, "data"), written(t, in, "identity.txt", private+"\n")
	config := written(t, in, "kairos.yaml", "backup: {hourly: 1, daily: 1, weekly: 1, recipients: ["+public+"]}\n")
	backups := func() []string {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(data, "backups", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	d := serve(t, data, "--config", config)
	run := d.start(t, waits)
	if _, err := d.Wait(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := runKairosd("backup", "--data", data); code != 0 { // without the configuration
		t.Fatalf("backup: exit %d, %s", code, stderr)
	}
	if files := backups(); len(files) != 2 || !strings.HasSuffix(files[0], ".db") {
		t.Fatalf("backups: %v", files)
	}
	if b, err := d.BackUp(t.Context()); err != nil || b.Encryption == nil || b.Encryption.Recipients[0] != public {
		t.Fatalf("backup: %+v, %v", b, err)
	}
	files := backups() // rotation keeps a backup that a person created
	if len(files) != 4 || !strings.HasSuffix(files[2], ".db.age") {
		t.Fatalf("backups: %v", files)
	}
	files = files[2:]
	if out, stderr, code := runKairosd("backup", "--data", data, "--config", config, filepath.Join(in, "mine.db")); code != 0 ||
		!strings.Contains(out, "mine.db.age: ") ||
		!strings.Contains(out, ", encrypted") {
		t.Errorf("backup FILE: exit %d, %s%s", code, out, stderr)
	}
	if _, stderr, code := runKairosd("backup", "--data", data, "--recipient", private, filepath.Join(in, "b.db")); code != 2 ||
		!strings.Contains(stderr, "private key") ||
		strings.Contains(stderr, private) {
		t.Errorf("a private key as recipient: exit %d, %s", code, stderr)
	}
	if code := d.end(t); code != 0 {
		t.Fatalf("serve ended with %d: %s", code, d.log)
	}
	for _, args := range [][]string{{"--force"}, {"--dry-run"}} {
		args = append([]string{"restore", "--data", data, files[0]}, args...)
		if _, stderr, code := runKairosd(args...); code != 2 || !strings.Contains(stderr, "is encrypted for "+public) ||
			!strings.Contains(stderr, "--identity") {
			t.Errorf("%s without the key: exit %d, %s", args, code, stderr)
		}
		if out, stderr, code := runKairosd(append(args, "--identity", key)...); code != 0 {
			t.Errorf("%s with the key: exit %d, %s%s", args, code, out, stderr)
		}
	}
	d = serve(t, data, "--config", config)
	if r, err := d.FindRun(t.Context(), run.ID); err != nil || r.WaitReason != domain.WaitHeld {
		t.Errorf("the restored run: %s %s, %v", r.Status, r.WaitReason, err)
	}
}

// An upgrade encrypts the copy of the previous database like a backup, whether the daemon upgrades
// or a command without the configuration.
func TestAnUpgradeEncryptsTheOldDatabase(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	public, private := keyPair(t)
	data, key := filepath.Join(in, "data"), written(t, in, "identity.txt", private+"\n")
	config := written(t, in, "kairos.yaml", "backup: {recipients: ["+public+"]}\n")
	d := serve(t, data, "--config", config)
	run := d.start(t, waits)
	if _, err := d.Wait(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	if code := d.end(t); code != 0 {
		t.Fatalf("serve ended with %d: %s", code, d.log)
	}
	later := func(open func(context.Context, string, recovery.Options) (*store.Store, error), args ...string) (string, int) {
		var out output
		code := kairosd.Opening(
			open,
		)(
			t.Context(),
			cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out, Env: func(string) string { return "" }},
			args,
		)
		return out.String(), code
	}
	for _, with := range []string{"", config} {
		var recipients []string
		if out, code := later(func(_ context.Context, _ string, o recovery.Options) (*store.Store, error) {
			recipients = o.Recipients
			return nil, errors.New("this is only asked")
		}, "serve", "--data", data, "--config", with, "--listen", "127.0.0.1:0"); code == 0 || recipients == nil ||
			(with != "") != slices.Equal(recipients, []string{public}) {
			t.Errorf("the daemon with %q encrypts to %#v: exit %d, %s", with, recipients, code, out)
		}
	}
	files := moreMigrations(t, 1)
	if out, code := later(func(ctx context.Context, path string, o recovery.Options) (*store.Store, error) {
		o.Migrations = files
		return recovery.Open(ctx, path, o)
	}, "migrate", "up", "--data", data); code != 0 {
		t.Fatalf("migrate up: exit %d, %s", code, out)
	}
	kept, err := filepath.Glob(filepath.Join(data, "pre-schema-*", "*"))
	if err != nil || len(kept) != 2 || filepath.Base(kept[0]) != "kairos.db.age" || filepath.Base(kept[1]) != "kairos.db.age.json" {
		t.Fatalf("it keeps %v, %v", kept, err)
	}
	back := []string{"restore", "--data", data, "--force", kept[0]}
	if _, stderr, code := runKairosd(back...); code != 2 || !strings.Contains(stderr, "is encrypted for "+public) ||
		!strings.Contains(stderr, "--identity") {
		t.Errorf("back without the key: exit %d, %s", code, stderr)
	}
	if out, stderr, code := runKairosd(append(back, "--identity", key)...); code != 0 {
		t.Fatalf("back with the key: exit %d, %s%s", code, out, stderr)
	}
	d = serve(t, data, "--config", config)
	if r, err := d.FindRun(t.Context(), run.ID); err != nil || r.WaitReason != domain.WaitHeld {
		t.Errorf("the restored run: %s %s, %v", r.Status, r.WaitReason, err)
	}
}
