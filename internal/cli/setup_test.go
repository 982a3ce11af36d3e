package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"filippo.io/age"
)

// written is a private file with a text in a directory, which is made if need be.
func written(t *testing.T, dir, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// shortDir is a directory for sockets, whose names may be no longer than 107 bytes:
// that of a test's own directory has the test's name in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kairos")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// keyPair is a recipient of encrypted backups, and what its file holds.
func keyPair(t *testing.T) (public, private string) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id.Recipient().String(), id.String()
}
