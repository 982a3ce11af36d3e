package cli_test

import (
	"errors"
	"io"
	"path/filepath"
	"testing"
)

// unread blocks every write, like a pipe without a reader.
type unread struct{}

func (unread) Write([]byte) (int, error) { select {} }

// unwritable is a log on a full disk.
type unwritable struct{}

func (unwritable) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// O15: a daemon whose log cannot be written starts, works, and stops.
func TestADaemonWithoutALog(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]io.Writer{"nobody reads": unread{}, "no space": unwritable{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveTo(t, w, filepath.Join(t.TempDir(), "data"), "--verbose")
			if status, _ := s.get(t, "/healthz"); status != 200 {
				t.Errorf("healthz: %d", status)
			}
			if code := s.end(t); code != 0 {
				t.Errorf("it ended with %d", code)
			}
		})
	}
}
