package recovery_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// FuzzRestore changes a manifest and a byte of a backup file, because both come from outside. The
// manifest is adjusted to the file. The restore is rejected, or it yields the same database.
func FuzzRestore(f *testing.F) {
	ctx := context.Background()
	dir := f.TempDir()
	path, backup := filepath.Join(dir, "kairos.db"), filepath.Join(dir, "b.db")
	s, err := recovery.Open(ctx, path, recovery.Options{})
	if err != nil {
		f.Fatal(err)
	}
	run := storetest.Run(f, s, storetest.Plan(f, s, storetest.TwoNodes), `{"n":1}`)
	storetest.Commit(f, s, run.ID, 0, nil, storetest.Entry("a", `"kept"`))
	made, err := recovery.Backup(ctx, s, backup, "test")
	if err != nil {
		f.Fatal(err)
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	sound, err := os.ReadFile(backup)
	if err != nil {
		f.Fatal(err)
	}
	manifest, err := os.ReadFile(backup + recovery.ManifestSuffix)
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{string(manifest), "", "null", "{}", "[]", `{"format":1}`, `{"format":1,"schema":1e3}`,
		`{"format":1,"extra":0}`, "\xff", string(manifest[:len(manifest)/2])} {
		f.Add([]byte(text), uint32(0), byte(0), false)
	}
	for _, at := range []int{0, 20, 70, 110, 4096, len(sound) / 2, len(sound) - 1} {
		f.Add(manifest, uint32(at), byte(1), true)
		f.Add(manifest, uint32(at), byte(0xff), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, at uint32, flip byte, fits bool) {
		in := t.TempDir()
		file := filepath.Join(in, "b.db")
		db := slices.Clone(sound)
		db[int(at)%len(db)] ^= flip
		var m domain.Backup
		if fits && json.Unmarshal(text, &m) == nil {
			sum := sha256.Sum256(db)
			m.SHA256, m.Bytes = hex.EncodeToString(sum[:]), int64(len(db))
			if text, err = recovery.SignManifest(&m, path+".key"); err != nil {
				t.Fatal(err)
			}
		}
		for suffix, b := range map[string][]byte{"": db, recovery.ManifestSuffix: text} {
			if err := os.WriteFile(file+suffix, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := recovery.VerifyBackupFile(ctx, file, path, recovery.RestoreOptions{})
		if err != nil {
			if domain.CodeOf(err) == domain.CodeInternal {
				t.Errorf("refused for a reason that nobody can act on: %v", err)
			}
			return
		}
		if got.AuditSeq != made.AuditSeq || got.AuditMac != made.AuditMac || got.Instance != made.Instance {
			t.Errorf("another database is taken: %+v", got)
		}
		c, err := store.Open(ctx, file, store.Options{ReadOnly: true, AuditKey: []byte("any")})
		if err != nil {
			t.Fatalf("verified, and it does not open: %v", err)
		}
		defer c.Close()
		if journal, err := c.Journal(ctx, run.ID, 0); err != nil || len(journal) != 1 || string(journal[0].Output) != `"kept"` {
			t.Errorf("verified, and the journal is %v, %v", journal, err)
		}
	})
}
