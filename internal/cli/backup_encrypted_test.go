package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// An operator names whom backups are encrypted to: the daemon's and the command's
// are, rotation counts them like others, a restore without the key says what to do,
// and one with it restores (S27).
func TestBackupsAreEncryptedAsConfigured(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	data, config, key := filepath.Join(in, "data"), filepath.Join(in, "kairos.yaml"), filepath.Join(in, "identity.txt")
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	public := id.Recipient().String()
	for path, text := range map[string]string{key: id.String() + "\n", config: "backup: {hourly: 1, daily: 1, weekly: 1, recipients: [" + public + "]}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
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
	if _, stderr, code := kairosd("backup", "--data", data); code != 0 { // without the configuration
		t.Fatalf("backup: exit %d, %s", code, stderr)
	}
	if files := backups(); len(files) != 2 || !strings.HasSuffix(files[0], ".db") {
		t.Fatalf("backups: %v", files)
	}
	if b, err := d.BackUp(t.Context(), ada); err != nil || b.Encryption == nil || b.Encryption.Recipients[0] != public {
		t.Fatalf("backup: %+v, %v", b, err)
	}
	files := backups() // the newer one, encrypted, is what one hour, day and week keep
	if len(files) != 2 || !strings.HasSuffix(files[0], ".db.age") {
		t.Fatalf("after rotation: %v", files)
	}
	if out, stderr, code := kairosd("backup", "--data", data, "--config", config, filepath.Join(in, "mine.db")); code != 0 || !strings.Contains(out, "mine.db.age: ") || !strings.Contains(out, ", encrypted") {
		t.Errorf("backup FILE: exit %d, %s%s", code, out, stderr)
	}
	if _, stderr, code := kairosd("backup", "--data", data, "--recipient", id.String(), filepath.Join(in, "b.db")); code != 2 || !strings.Contains(stderr, "private key") || strings.Contains(stderr, id.String()) {
		t.Errorf("a private key as recipient: exit %d, %s", code, stderr)
	}
	if code := d.end(t); code != 0 {
		t.Fatalf("serve ended with %d: %s", code, d.log)
	}
	for _, args := range [][]string{{"--force"}, {"--drill"}} {
		args = append([]string{"restore", "--data", data, files[0]}, args...)
		if _, stderr, code := kairosd(args...); code != 2 || !strings.Contains(stderr, "is encrypted to "+public) || !strings.Contains(stderr, "--identity") {
			t.Errorf("%s without the key: exit %d, %s", args, code, stderr)
		}
		if out, stderr, code := kairosd(append(args, "--identity", key)...); code != 0 {
			t.Errorf("%s with the key: exit %d, %s%s", args, code, out, stderr)
		}
	}
	d = serve(t, data, "--config", config)
	if r, err := d.FindRun(t.Context(), run.ID); err != nil || r.WaitReason != kairos.WaitHeld {
		t.Errorf("the restored run: %s %s, %v", r.Status, r.WaitReason, err)
	}
}

// The weekly look at an encrypted backup says what it could see without the key, and
// finds one that rots all the same.
func TestAnEncryptedBackupIsReadBack(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "kairos-1.db.age")
	if _, err := s.EncryptedBackup(t.Context(), path, "test", []string{id.Recipient().String()}); err != nil {
		t.Fatal(err)
	}
	test, err := cli.Drill(t.Context(), s, dir)
	if err != nil || !test.Encrypted || test.Problem != "" || test.Backup != "kairos-1.db.age" {
		t.Errorf("of a whole one: %+v, %v", test, err)
	}
	list, err := s.AuditEvents(t.Context(), kairos.AuditFilter{Action: "store.drilled"})
	if err != nil || len(list.Items) != 1 || !strings.Contains(list.Items[0].Reason, "only who has the key") {
		t.Errorf("recorded: %+v, %v", list.Items, err)
	}
	if err := os.Truncate(path, 5000); err != nil {
		t.Fatal(err)
	}
	if test, err = cli.Drill(t.Context(), s, dir); err == nil || !strings.Contains(test.Problem, "not the file that its manifest speaks of") {
		t.Errorf("of one cut short: %+v, %v", test, err)
	}
}
