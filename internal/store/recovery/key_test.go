package recovery

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// A backup is restored only with the key file of the server that made it. Without one, with a wrong
// one, with that of another server, or after any change, it is rejected, and the error names the
// next step.
func TestABackupIsRestoredWithItsKeyOnly(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := guarded(t)
	s := reopened(t, path)
	dir := t.TempDir()
	backup := filepath.Join(dir, "b.db")
	made, err := Backup(ctx, s, backup, "test")
	must(t, err)
	must(t, s.Close())
	other := guarded(t)
	wrong := filepath.Join(dir, "wrong.key")
	must(t, os.WriteFile(wrong, []byte(hex.EncodeToString(core.RandomBytes(32))+"\n"), 0o600))
	forged := filepath.Join(dir, "forged.db")
	must(t, copyFile(backup, forged))
	must(t, Forge(forged, edits["a user added"].sql, made, ""))
	rewritten := filepath.Join(dir, "rewritten.db")
	must(t, copyFile(backup, rewritten))
	m := made
	m.Created = m.Created.Add(time.Hour)
	must(t, Forge(rewritten, "", m, ""))
	inside := filepath.Join(dir, "inside.db")
	must(t, copyFile(backup, inside))
	must(t, Forge(inside, edits["a user added"].sql, made, path+".key"))
	for name, c := range map[string]struct {
		backup, key string
		code        domain.Code
		says        []string
	}{
		"a lost key":                    {backup, "", domain.CodeInvalid, []string{"key file", "--key", "--without-key"}},
		"a wrong key":                   {backup, wrong, domain.CodeCorrupt, []string{"fingerprint", "--key"}},
		"the key of another server":     {backup, other + ".key", domain.CodeCorrupt, []string{"fingerprint", "--key"}},
		"an edited backup":              {forged, path + ".key", domain.CodeCorrupt, []string{"changed"}},
		"an edited manifest":            {rewritten, path + ".key", domain.CodeCorrupt, []string{"changed"}},
		"edited by who has the key":     {inside, path + ".key", domain.CodeCorrupt, []string{"user mallory"}},
		"the backup as it was, its key": {backup, path + ".key", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := filepath.Join(t.TempDir(), "new", "kairos.db")
			for what, do := range map[string]func() error{
				"verification": func() error {
					_, err := VerifyBackupFile(ctx, c.backup, target, RestoreOptions{KeyFile: c.key})
					return err
				},
				"restore": func() error {
					_, err := Restore(ctx, c.backup, target, RestoreOptions{KeyFile: c.key})
					return err
				},
			} {
				err := do()
				if domain.CodeOf(err) != c.code {
					t.Errorf("%s: %v", what, err)
				}
				text := ""
				if e, ok := errors.AsType[*domain.Error](err); ok {
					text = e.Error() + " " + e.Suggestion
				}
				for _, s := range c.says {
					if !strings.Contains(text, s) {
						t.Errorf("%s does not say %q: %s", what, s, text)
					}
				}
			}
			if _, err := os.Stat(target); (err == nil) != (c.code == "") {
				t.Errorf("the database is there: %v", err)
			}
		})
	}
}

// Without the key file, a restore returns plans, runs, and the audit log, marked as not
// authenticated. All access ends, and nothing runs until a new administrator releases it.
func TestARestoreWithoutTheKeyEndsAllAccess(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := guarded(t)
	s := reopened(t, path)
	backup, target := filepath.Join(t.TempDir(), "b.db"), filepath.Join(t.TempDir(), "kairos.db")
	made, err := Backup(ctx, s, backup, "test")
	must(t, err)
	must(t, s.Close())
	must(t, Forge(backup, edits["a user added"].sql, made, "")) // it could not be verified
	if _, err := Restore(ctx, backup, target, RestoreOptions{WithoutKey: true}); err != nil {
		t.Fatal(err)
	}
	s = reopened(t, target)
	accessEnded(t, s)
	if n, err := s.CountUsers(ctx); err != nil || n != 5 {
		t.Errorf("%d users, %v", n, err)
	}
	r, err := s.VerifyAudit(ctx)
	if err != nil || len(r.Problems) > 0 || r.Unauthenticated != made.AuditSeq {
		t.Errorf("audit: %+v, %v", r, err)
	}
	_, err = Restore(ctx, backup, filepath.Join(t.TempDir(), "kairos.db"), RestoreOptions{WithoutKey: true, KeyFile: path + ".key"})
	if domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("with and without a key: %v", err)
	}
}

// A database whose key file is lost continues with a new one in the same way. Its earlier backups
// need their own key.
func TestALostKeyFileEndsAllAccess(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := guarded(t)
	must(t, os.Remove(path+".key"))
	if _, err := Open(ctx, path, Options{}); domain.CodeOf(err) != domain.CodeCorrupt {
		t.Fatalf("without the key file: %v", err)
	}
	s, err := Open(ctx, path, Options{Options: store.Options{NewKey: true}})
	must(t, err)
	accessEnded(t, s)
	must(t, s.Close())
	s = reopened(t, path)
	if h, err := s.Hold(ctx); err != nil || h != nil {
		t.Errorf("released, and after a start held again: %+v, %v", h, err)
	}
}

// A restore, and every other command, as root leaves files that the owner of the data
// directory can open.
func TestRootKeepsTheOwnerOfTheDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files to others")
	}
	ctx := context.Background()
	path := guarded(t)
	s := reopened(t, path)
	backups := t.TempDir()
	const owner = 54321
	must(t, os.Chown(backups, owner, owner))
	backup := filepath.Join(backups, "b.db")
	_, err := Backup(ctx, s, backup, "test")
	must(t, err)
	must(t, s.Close())
	dir := filepath.Dir(path)
	must(t, filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error { return errors.Join(err, os.Chown(p, owner, owner)) }))
	_, err = Restore(ctx, backup, path, RestoreOptions{Replace: true})
	must(t, err)
	must(t, reopened(t, path).Close())
	for _, root := range []string{dir, backups} {
		must(t, filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Sys().(*syscall.Stat_t).Uid != owner {
				t.Errorf("%s belongs to %d", p, info.Sys().(*syscall.Stat_t).Uid)
			}
			return err
		}))
	}
}

// The key file of another database is refused before anything is written with it.
func TestTheKeyFileOfAnotherDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path, other := guarded(t), guarded(t)
	must(t, os.Remove(path+".key"))
	must(t, copyFile(other+".key", path+".key"))
	if _, err := Open(ctx, path, Options{}); domain.CodeOf(err) != domain.CodeCorrupt || !strings.Contains(err.Error(), "fingerprint") {
		t.Errorf("%v", err)
	}
	reader, err := Open(ctx, path, Options{Options: store.Options{ReadOnly: true}})
	must(t, err)
	defer reader.Close()
	if r, err := reader.VerifyAudit(ctx); err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "fingerprint") {
		t.Errorf("%+v, %v", r, err)
	}
}
