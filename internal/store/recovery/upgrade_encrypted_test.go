package recovery

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

func keyPair(t *testing.T) (public, file string) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "identity.txt")
	if err := os.WriteFile(file, []byte(id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return id.Recipient().String(), file
}

// plainFiles returns the unencrypted SQLite databases in a directory, which it recognizes by their
// first bytes.
func plainFiles(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
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

// keptBefore returns the one file that an upgrade kept of the previous database.
func keptBefore(t *testing.T, path string) string {
	t.Helper()
	kept, err := filepath.Glob(filepath.Join(filepath.Dir(path), "pre-schema-99999-*", "*"+ManifestSuffix))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept: %v, %v", kept, err)
	}
	return strings.TrimSuffix(kept[0], ManifestSuffix)
}

// With encrypted backups, the previous database is encrypted after an upgrade, and its key restores
// it.
func TestThePreviousDatabaseIsEncryptedAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path, run := oldDatabase(t)
	public, key := keyPair(t)
	var stages []domain.StartStage
	s, err := Open(
		ctx,
		path,
		Options{Options: store.Options{Migrations: with(t, addsColumn)}, Recipients: []string{public}, Progress: func(p domain.Startup) {
			if len(stages) == 0 || stages[len(stages)-1] != p.Stage {
				stages = append(stages, p.Stage)
			}
		}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(stages) < 2 || stages[1] != domain.StartEncrypting {
		t.Errorf("who waits is told of %v", stages)
	}
	if journal, err := s.Journal(ctx, run, 0); err != nil || len(journal) != 2 {
		t.Errorf("the journal: %d rows, %v", len(journal), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := plainFiles(t, filepath.Dir(path)); len(got) != 1 || got[0] != path {
		t.Errorf("databases that anybody can read: %v", got)
	}
	kept := keptBefore(t, path)
	if filepath.Base(kept) != "kairos.db.age" {
		t.Errorf("kept as %s", kept)
	}
	if beside, err := os.ReadDir(filepath.Dir(kept)); err != nil || len(beside) != 2 {
		t.Errorf("kept are %v, %v", beside, err)
	}
	for _, p := range []string{kept, kept + ManifestSuffix} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	back := filepath.Join(t.TempDir(), "kairos.db")
	o := RestoreOptions{KeyFile: path + ".key"}
	_, err = Restore(ctx, kept, back, o)
	if e, ok := errors.AsType[*domain.Error](err); !ok || e.Code != domain.CodeInvalid ||
		!strings.Contains(e.Message, "is encrypted for "+public) ||
		!strings.Contains(e.Suggestion, "--identity") {
		t.Errorf("without the key: %v", err)
	}
	o.IdentityFile = key
	r, err := Restore(ctx, kept, back, o)
	if err != nil || r.Backup.Schema != 1 || r.Hold.Held != 1 {
		t.Fatalf("with the key: %+v, %v", r, err)
	}
	if s, err = Open(ctx, back, Options{}); err != nil {
		t.Fatal(err)
	}
	if journal, err := s.Journal(ctx, run, 0); err != nil || len(journal) != 2 {
		t.Errorf("the restored journal: %d rows, %v", len(journal), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A command without a configuration upgrades as the daemon would. A configuration without
// recipients applies.
func TestEveryUpgradeEncryptsAsConfigured(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	public, _ := keyPair(t)
	for _, c := range []struct {
		recipients []string
		kept       string
	}{{nil, "kairos.db.age"}, {[]string{}, "kairos.db"}} {
		path, _ := oldDatabase(t)
		s, err := Open(ctx, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := KeepRecipients(ctx, s, []string{public}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = Open(ctx, path, Options{Options: store.Options{Migrations: with(t, addsColumn)},
			Recipients: c.recipients}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := filepath.Base(keptBefore(t, path)); got != c.kept {
			t.Errorf("with %#v: %s is kept", c.recipients, got)
		}
	}
}

// If the previous database cannot be encrypted, there is no upgrade.
func TestAnUpgradeStopsIfItsEncryptionFails(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path, _ := oldDatabase(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(ctx, path, Options{Options: store.Options{Migrations: with(t, addsColumn)}, Recipients: []string{"age1nonsense"}})
	e, ok := errors.AsType[*domain.Error](err)
	if !ok || e.Code != domain.CodeInvalid {
		t.Fatalf("upgraded all the same: %v", err)
	}
	for _, want := range []string{"not upgraded", "recipient 1", "age1nonsense", "backup.recipients", path} {
		if !strings.Contains(e.Message+" "+e.Suggestion, want) {
			t.Errorf("%q, %q do not say %q", e.Message, e.Suggestion, want)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the database was changed (%v)", err)
	}
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// If the encrypted file cannot be written, the upgrade ends before it changes anything. The error
// names the file and the reason.
func TestAnEncryptionThatFailsStopsTheUpgrade(t *testing.T) {
	t.Parallel()
	path, _ := oldDatabase(t)
	public, _ := keyPair(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestUpgradeChild$")
	cmd.Env = append(os.Environ(), upgradeEnv+"="+path, recipientEnv+"="+public, fileSizeEnv+"=65536")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("upgraded all the same: %s", out)
	}
	for _, want := range []string{"not upgraded", "cannot write the encrypted backup of the old schema to " +
		filepath.Join(filepath.Dir(path), "restoring", "aside.age"), "file too large", "space for two more copies", path +
		" is unchanged"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the database was changed (%v)", err)
	}
	if got := plainFiles(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("left are %v", got)
	}
}
