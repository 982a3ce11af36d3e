package store

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// O01: A file system that cannot hold a database safely is rejected. A doubtful one is reported.
func TestFileSystemsAreClassified(t *testing.T) {
	t.Parallel()
	for kind, c := range map[int64]struct{ refused, logged string }{
		0x6969: {"NFS", ""}, 0x517b: {"SMB", ""}, 0xff534d42: {"CIFS", ""}, 0xfe534d42: {"SMB2", ""}, 0x00c36400: {"Ceph", ""},
		0x5346414f: {"AFS", ""},
		0x65735546: {"", "FUSE"}, 0x01021997: {"", "9p"}, 0x01021994: {"", "tmpfs"},
		0xef53: {"", ""}, 0x58465342: {"", ""}, 0x9123683e: {"", ""}, // ext4, XFS, btrfs
	} {
		var log bytes.Buffer
		err := (&Store{log: slog.New(slog.NewTextHandler(&log, nil))}).classifyFileSystem("/data", kind)
		if c.refused == "" && err != nil ||
			c.refused != "" && (domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%x: %v, want %q", kind, err, c.refused)
		}
		if got := log.String(); (got == "") != (c.logged == "") || !strings.Contains(got, c.logged) {
			t.Errorf("%x is said: %q, want %q", kind, got, c.logged)
		}
	}
	if _, err := Open(t.Context(), filepath.Join("/proc", "kairos", "kairos.db"), Options{}); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("a directory where nothing can be made: %v", err)
	}
}

// O02: Files that other users can read are made private before anything is written. Files of
// another user are rejected. The error names a directory that is in the place of a file.
func TestFilesOfOtherUsers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		owner uint32
		self  int
		want  bool
	}{{1000, 1000, false}, {0, 1000, false}, {1001, 1000, true}, {1001, 0, false}} {
		if got := core.Foreign(c.owner, c.self); got != c.want {
			t.Errorf("a file of %d, run as %d: %v", c.owner, c.self, got)
		}
	}
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "kairos.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+reserveSuffix, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, path + reserveSuffix} {
		if err := os.Chmod(p, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if s, err = Open(t.Context(), path, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range append(s.Files(), dir) {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v %v", p, info, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "kairos.db")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(t.Context(), other, Options{}); err == nil {
		t.Errorf("a directory was opened as a database: %v", s.Close())
	}
}

// O16: A directory in the place of the database file is rejected and remains unchanged.
func TestADirectoryIsNotADatabase(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), dir, Options{})
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("got %v, want an error that names the directory", err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the mode of the directory is %v now, %v", info.Mode(), err)
	}
	if _, err := os.Stat(dir + ".lock"); err == nil {
		t.Error("a lock file was left beside the directory")
	}
}
