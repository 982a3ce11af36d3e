package recovery_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// identity creates an age key pair, with the private key in a file.
func identity(t *testing.T) (public, file string) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "identity.txt")
	if err := os.WriteFile(file, []byte("# of a test\n"+id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return id.Recipient().String(), file
}

// S27: An encrypted backup cannot be read without a key, and the error gives the reason. The key of
// one of its recipients restores it.
func TestAnEncryptedBackupNeedsItsKey(t *testing.T) {
	t.Parallel()
	path, _, run := installation(t)
	s, err := recovery.Open(t.Context(), path, recovery.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, _ := identity(t)
	second, key := identity(t)
	stranger, strangers := identity(t)
	backup := filepath.Join(t.TempDir(), "kairos.db.age")
	b, err := recovery.EncryptedBackup(t.Context(), s, backup, "test", []string{first, second})
	if err != nil || b.Encryption == nil || b.Bytes <= b.Encryption.Bytes || len(b.Verified) < 5 {
		t.Fatalf("backup: %+v, %v", b, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tidy := func() {
		t.Helper()
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() && !strings.HasPrefix(e.Name(), "replaced-") {
				t.Errorf("%s is left", e.Name())
			}
		}
	}
	tidy()
	text, err := os.ReadFile(backup)
	if err != nil || bytes.Contains(text, []byte("SQLite format")) || bytes.Contains(text, []byte("before the backup")) {
		t.Errorf("the file can be read: %v", err)
	}
	for _, p := range []string{backup, backup + recovery.ManifestSuffix} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(backup)); err != nil || len(entries) != 2 {
		t.Errorf("beside it lies: %v, %v", entries, err)
	}
	if err := recovery.VerifyIntact(b); err != nil {
		t.Errorf("without a key: %v", err)
	}
	for name, c := range map[string]struct {
		identity string
		code     domain.Code
		says     []string
	}{
		"without a key": {"", domain.CodeInvalid, []string{backup, "is encrypted for " + first + ", " + second, "--identity"}},
		"with a stranger's key": {strangers, domain.CodeInvalid, []string{backup, strangers + " contains none of their " +
			"identities", "age-keygen -y"}},
		"with a key that is not": {backup, domain.CodeInvalid, []string{"not an age identity file", "age-keygen"}},
		"with a missing file":    {filepath.Join(t.TempDir(), "none"), domain.CodeInvalid, []string{"cannot read the identity file"}},
	} {
		o := recovery.RestoreOptions{Replace: true, IdentityFile: c.identity}
		_, restored := recovery.Restore(t.Context(), backup, path, o)
		_, verified := recovery.VerifyBackupFile(t.Context(), backup, path, o)
		for _, err := range []error{restored, verified} {
			e, ok := errors.AsType[*domain.Error](err)
			if !ok {
				t.Fatalf("%s: %v", name, err)
			}
			for _, want := range c.says {
				if !strings.Contains(e.Message+" "+e.Suggestion, want) {
					t.Errorf("%s: %q, %q do not say %q", name, e.Message, e.Suggestion, want)
				}
			}
			if e.Code != c.code || strings.Contains(e.Message, stranger) || strings.Contains(err.Error(), "AGE-SECRET-KEY") {
				t.Errorf("%s: %v", name, err)
			}
		}
		tidy()
	}
	o := recovery.RestoreOptions{Replace: true, IdentityFile: key}
	if _, err := recovery.VerifyBackupFile(t.Context(), backup, path, o); err != nil {
		t.Errorf("a drill with the key: %v", err)
	}
	r, err := recovery.Restore(t.Context(), backup, path, o)
	if err != nil || r.Hold.Backup != "kairos.db.age" || r.Hold.Held != 1 {
		t.Fatalf("a restore with the key: %+v, %v", r.Hold, err)
	}
	tidy()
	again := openAt(t, path)
	if got, err := again.Run(t.Context(), run.ID); err != nil || got.LastSeq != 2 {
		t.Errorf("the run: %+v, %v", got, err)
	}

	text[len(text)-20] ^= 1
	if err := os.WriteFile(backup, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := recovery.VerifyBackupFile(t.Context(), backup, path, o); domain.CodeOf(err) != domain.CodeCorrupt {
		t.Errorf("a drill of a changed file: %v", err)
	}
	if err := recovery.VerifyIntact(b); domain.CodeOf(err) != domain.CodeCorrupt {
		t.Errorf("a changed file without a key: %v", err)
	}
}

// Anyone can encrypt with a public key. A backup of another server is rejected, with its own
// manifest or with the manifest of this server.
func TestASwappedEncryptedBackupIsRefused(t *testing.T) {
	t.Parallel()
	path, _, _ := installation(t)
	public, key := identity(t)
	backUp := func(path string) string {
		t.Helper()
		s, err := recovery.Open(t.Context(), path, recovery.Options{})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "b.age")
		if _, err := recovery.EncryptedBackup(t.Context(), s, file, "test", []string{public}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return file
	}
	mine := backUp(path)
	other, _, _ := installation(t)
	theirs := backUp(other)
	o := recovery.RestoreOptions{Replace: true, IdentityFile: key}
	if _, err := recovery.Restore(t.Context(), theirs, path, o); domain.CodeOf(err) != domain.CodeCorrupt {
		t.Errorf("of another installation: %v", err)
	}
	if err := os.Rename(theirs, mine); err != nil {
		t.Fatal(err)
	}
	if _, err := recovery.Restore(t.Context(), mine, path, o); domain.CodeOf(err) != domain.CodeCorrupt {
		t.Errorf("exchanged under its manifest: %v", err)
	}
}

// The next backup deletes the unencrypted copy of a killed one.
func TestFilesOfAKilledEncryptionAreDeleted(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	public, _ := identity(t)
	left := s.Path() + ".encrypting"
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "copy.db"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := recovery.EncryptedBackup(t.Context(), s, filepath.Join(t.TempDir(), "b.age"), "test", []string{public}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
}
