package crashtest

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// The process is killed during an encrypted backup, after the encrypted file was written and before
// the unencrypted copy next to the database is deleted. Both the daemon's backups and the command
// are tested. After the next start, the copy is gone, there is no incomplete backup, and the next
// backup is complete.
func TestKillInEncryptedBackup(t *testing.T) {
	t.Parallel()
	bin := build(t)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "identity.txt")
	if err := os.WriteFile(key, []byte(id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := configFile(t, "backup: {recipients: ["+id.Recipient().String()+"]}\n")
	p := point{"backup.encrypted", 1}
	deaths := 0
	for name, kill := range map[string]func(ctx context.Context, t *testing.T, d *daemon, data string){
		"by the daemon": func(ctx context.Context, t *testing.T, d *daemon, _ string) {
			if b, err := d.api.BackUp(ctx); err == nil {
				t.Fatalf("%s is not reached: %+v", p, b)
			}
		},
		"by the command": func(_ context.Context, t *testing.T, _ *daemon, data string) {
			if killed, err := command(bin, p.String(), "backup", "--data", data, "--config", config); err != nil || !killed {
				t.Fatalf("%s is not reached: %v", p, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			data := filepath.Join(proof.Dir(t), "data")
			if err := os.MkdirAll(data, 0o700); err != nil {
				t.Fatal(err)
			}
			var env []string
			if name == "by the daemon" {
				env = append(env, failpoint.Env+"="+p.String())
			}
			d := start(t, bin, data, config, env...)
			if _, _, _, problems, err := d.api.SavePlan(ctx, []byte(keeps), planner.FormatYAML, "upload", ""); err != nil {
				t.Fatal(err, problems)
			}
			acked, err := startRuns(ctx, d, 3)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range acked {
				if _, err := d.api.Wait(ctx, id); err != nil {
					t.Fatal(err)
				}
			}
			kill(ctx, t, d, data)
			deaths++
			d.kill(t)
			if got := plainDatabases(t, data); len(got) != 2 {
				t.Fatalf("there is no copy that could be left: %v", got)
			}

			d = start(t, bin, data, config)
			if got := plainDatabases(t, data); len(got) != 1 || filepath.Base(got[0]) != "kairos.db" {
				t.Errorf("after the next start these can be read: %v", got)
			}
			if i, err := d.api.Server(ctx); err != nil || len(i.Backups) != 0 {
				t.Errorf("what is no backup counts as one: %+v, %v", i.Backups, err)
			}
			left, err := filepath.Glob(filepath.Join(data, "backups", "*"))
			if err != nil || len(left) != 1 || !strings.HasSuffix(left[0], ".partial") {
				t.Fatalf("left are %v, %v", left, err)
			}
			if _, err := recovery.VerifyBackupFile(ctx, left[0], filepath.Join(data, "kairos.db"),
				recovery.RestoreOptions{IdentityFile: key}); err == nil {
				t.Errorf("%s can be restored", left[0])
			}
			b, err := d.api.BackUp(ctx)
			if err != nil || b.Encryption == nil {
				t.Fatalf("the next backup: %+v, %v", b, err)
			}
			made, err := filepath.Glob(filepath.Join(data, "backups", "*.db.age"))
			if err != nil || len(made) != 1 {
				t.Fatalf("made: %v, %v", made, err)
			}
			if _, err := command(bin, "", "restore", "--data", data, "--dry-run", "--identity", key, made[0]); err != nil {
				t.Errorf("the next backup cannot be restored: %v", err)
			}
			if got := plainDatabases(t, data); len(got) != 1 {
				t.Errorf("after the next backup these can be read: %v", got)
			}
			d.kill(t)
			allThere(t, filepath.Join(data, "kairos.db"), acked)
		})
	}
	proof.Figure(t, "crash points", deaths)
}

// plainDatabases returns the files in a directory that begin like an SQLite database.
func plainDatabases(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.HasPrefix(text, []byte("SQLite format 3")) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
