package recovery

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// EncryptedSuffix is the suffix of backups that the age program can read.
const EncryptedSuffix = ".age"

// ManifestSuffix is appended to a backup's name for its manifest.
const ManifestSuffix = ".json"

// manifestFormat is the manifest format that this binary writes and reads.
const manifestFormat = 2

// Backup writes a consistent copy of the database to a new file while it is in
// use, opens it, verifies everything in it, and writes its manifest last: only
// then the backup exists. It reads one snapshot beside the
// writer, so it finishes under any load. build names the binary.
// Too little space is CodeNoSpace; a copy that fails a check is CodeCorrupt and
// is removed.
func Backup(ctx context.Context, s *store.Store, path, build string) (domain.Backup, error) {
	return EncryptedBackup(ctx, s, path, build, nil)
}

// EncryptedBackup is Backup with encryption for the recipients (age public keys); without
// recipients the backup is not encrypted. The copy is verified before it is encrypted, and until
// then does not leave the data directory.
func EncryptedBackup(ctx context.Context, s *store.Store, path, build string, recipients []string) (domain.Backup, error) {
	b, err := of(s).backup(ctx, path, build, recipients)
	if err != nil {
		return domain.Backup{}, fmt.Errorf("backup: %w", err)
	}
	return b, nil
}

func (s *database) backup(ctx context.Context, path, build string, recipients []string) (b domain.Backup, err error) {
	if err := roomFor(s.db.Path, filepath.Dir(path), 1); err != nil {
		return b, err
	}
	temp := path + ".partial"
	for _, p := range []string{temp, path + ManifestSuffix} { // without its manifest, an older file with that name is not a backup
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return b, domain.Errorf(domain.CodeUnavailable, "cannot replace %s: %w", p, err)
		}
	}
	defer func() {
		if err != nil {
			err = core.JoinRemove(err, temp)
		}
	}()
	if len(recipients) == 0 {
		b, err = s.verifiedCopy(ctx, temp)
	} else {
		b, err = s.encryptedCopy(ctx, temp, recipients)
	}
	if err != nil {
		return b, err
	}
	b.Created, b.Kairosd, b.Path = s.db.Now().UTC(), build, path
	if err := os.Rename(temp, path); err != nil {
		return b, err
	}
	if err := core.SyncDir(filepath.Dir(path)); err != nil {
		return b, err
	}
	failpoint.Hit("backup.renamed")
	if b, err = writeManifest(b, s.db.Secrets.Derived); err != nil {
		return b, err
	}
	return b, store.KeepOwner(filepath.Dir(path), path, path+ManifestSuffix)
}

// verifiedCopy writes a verified copy of the database, and describes it.
func (s *database) verifiedCopy(ctx context.Context, path string) (domain.Backup, error) {
	if err := CopyTo(ctx, s.Store, path); err != nil {
		return domain.Backup{}, err
	}
	failpoint.Hit("backup.copied")
	b, err := examine(ctx, path, store.Options{AuditKey: s.db.Secrets.AuditKey, Migrations: s.db.Migrations})
	if err != nil {
		return b, err
	}
	for _, c := range b.Verified {
		if len(c.Problems) > 0 {
			return b, domain.Errorf(domain.CodeCorrupt, "the check of the copy failed: %s: %s", c.Name, c.Problems[0]).
				Suggest("the database or the disk of the backup is damaged; run kairosd doctor")
		}
	}
	failpoint.Hit("backup.verified")
	return b, nil
}

// CopyTo writes a consistent copy to a new private file and syncs it. It does not verify the copy;
// see Backup.
func CopyTo(ctx context.Context, s *store.Store, path string) error {
	// Create the file before SQLite writes to it, so that no other user can read it.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return domain.Errorf(domain.CodeUnavailable, "create the copy: %w", err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	// VACUUM INTO uses a connection of its own: the readers' connections are query-only.
	source, err := core.OpenPlain(s.Path(), "")
	if err != nil {
		return err
	}
	defer source.Close()
	if _, err := source.ExecContext(ctx, "VACUUM INTO ?", path); err != nil {
		return core.Translate(err, "copy the database")
	}
	return core.SyncFile(path)
}

// roomFor returns an error if the copy could fill the disk.
func roomFor(path, dir string, copies int) error {
	info, err := os.Stat(path)
	if err != nil {
		return domain.Errorf(domain.CodeUnavailable, "look at the database: %w", err)
	}
	var fsinfo syscall.Statfs_t
	if err := syscall.Statfs(dir, &fsinfo); err != nil {
		return domain.Errorf(domain.CodeUnavailable, "check %s: %w", dir, err)
	}
	need, free := uint64(copies)*uint64(info.Size())*12/10, fsinfo.Bavail*uint64(fsinfo.Bsize)
	if free < need {
		return domain.Errorf(domain.CodeNoSpace, "%s has %d MiB free; the copy may need %d MiB", dir, free>>20, need>>20).
			Suggest("free space on that disk, or write the backup to another one")
	}
	return nil
}

// examine opens a copy for reading and verifies all of it.
func examine(ctx context.Context, path string, o store.Options) (b domain.Backup, err error) {
	o.ReadOnly = true
	c, err := store.Open(ctx, path, o)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if b, err = of(c).describe(ctx); err != nil {
		return b, err
	}
	b.Verified, err = Verify(ctx, c)
	return b, err
}

// describe fills a manifest with the facts of the database.
func (s *database) describe(ctx context.Context) (domain.Backup, error) {
	b := domain.Backup{Format: manifestFormat, Generation: s.db.Secrets.Generation, Path: s.db.Path}
	key, err := s.db.Q.SettingGet(ctx, "instance_key")
	if err != nil {
		return b, core.Translate(err, "read the instance key")
	}
	b.Instance = core.Fingerprint(key)
	if b.AuditSeq, err = s.db.Q.AuditLast(ctx); err != nil {
		return b, core.Translate(err, "read the audit log")
	}
	mac, err := s.db.Q.AuditMac(ctx, b.AuditSeq)
	if err == nil {
		b.AuditMac = hex.EncodeToString(mac)
	} else if b.AuditSeq != 0 {
		return b, core.Translate(err, "read the audit chain")
	}
	if b.Schema, err = s.db.Schema(ctx); err != nil {
		return b, err
	}
	n, err := s.db.Q.RowCounts(ctx)
	if err != nil {
		return b, core.Translate(err, "count rows")
	}
	b.Rows = map[string]int64{
		"plans":         n.Plans,
		"plan_versions": n.PlanVersions,
		"runs":          n.Runs,
		"step_results":  n.StepResults,
		"payloads":      n.Payloads,
		"audit_events":  n.AuditEvents,
		"users":         n.Users,
		"tokens":        n.Tokens,
	}
	b.SHA256, b.Bytes, err = fileSum(s.db.Path)
	return b, err
}

// fileSum returns the hash of a whole file. Use it only for copies that no other process uses:
// closing a file drops SQLite's locks on it in this process.
func fileSum(path string) (string, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, domain.Errorf(domain.CodeUnavailable, "read %s: %w", path, err)
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return "", 0, domain.Errorf(domain.CodeUnavailable, "read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), n, nil
}

// writeManifest writes the manifest of a backup, with its MAC.
func writeManifest(b domain.Backup, k core.Derived) (domain.Backup, error) {
	text, err := encodeManifest(&b, k)
	if err != nil {
		return b, err
	}
	return b, core.WriteWhole(b.Path+ManifestSuffix, text)
}

// encodeManifest adds the MAC to a manifest. Without a key there is no MAC.
func encodeManifest(b *domain.Backup, k core.Derived) ([]byte, error) {
	b.Created = b.Created.UTC()
	if b.Key, b.MAC = k.Print, ""; k.Manifest != nil {
		b.MAC = manifestMAC(*b, k)
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the manifest: %w", err)
	}
	return append(text, '\n'), nil
}

// manifestMAC authenticates the whole manifest, including the hash of the backup file.
func manifestMAC(b domain.Backup, k core.Derived) string {
	b.MAC = ""
	m := hmac.New(sha256.New, k.Manifest)
	m.Write([]byte(core.EncodeJSON(b)))
	return hex.EncodeToString(m.Sum(nil))
}

// CheckManifest checks that the manifest of the backup at path was written with the key file of
// this server; CodeCorrupt if not.
func CheckManifest(s *store.Store, path string) error {
	b, err := ReadManifest(path)
	if err != nil {
		return err
	}
	return checkManifest(b, s.Core().Secrets.AuditKey, s.Core().Path+".key")
}

// ReadManifest reads the manifest of the backup at path; CodeNotFound without a manifest, which
// means that there is no complete backup.
func ReadManifest(path string) (domain.Backup, error) {
	var b domain.Backup
	text, err := os.ReadFile(path + ManifestSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return b, domain.Errorf(domain.CodeNotFound, "%s has no manifest (%s), so it is not a complete backup", path,
			filepath.Base(path)+ManifestSuffix).
			Suggest("use a backup with its manifest, or copy the manifest next to it")
	} else if err != nil {
		return b, domain.Errorf(domain.CodeUnavailable, "read the manifest: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return b, domain.Errorf(domain.CodeInvalid, "cannot read the manifest of %s: %w", path, err)
	}
	if b.Format != manifestFormat {
		return b, domain.Errorf(
			domain.CodeInvalid,
			"the manifest of %s has format %d; this kairosd supports %d",
			path,
			b.Format,
			manifestFormat,
		)
	}
	b.Path = path
	return b, nil
}
