package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// If a daemon crashes within earlyCrash of its start three times within crashWindow, the next
	// start is in safe mode.
	earlyCrash       = 30 * time.Second
	DefaultCrashLoop = 3
	crashWindow      = 5 * time.Minute
)

// starts counts, in a file, the starts of the daemon since the last clean end.
type starts struct{ path string }

func startsOf(data string) starts { return starts{filepath.Join(data, "kairosd.starts")} }

// begin records a start and returns the number of early crashes within the window. A file that
// cannot be read counts as none, because it must not prevent a start.
func (s starts) begin(now time.Time) (died int, err error) {
	text, err := os.ReadFile(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	var keep strings.Builder
	for line := range strings.Lines(string(text)) {
		at, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if t := time.UnixMilli(at); err == nil && !t.After(now) && now.Sub(t) < crashWindow {
			died++
			fmt.Fprintln(&keep, at)
		}
	}
	fmt.Fprintln(&keep, now.UnixMilli())
	return died, os.WriteFile(s.path, []byte(keep.String()), 0o600)
}

// survived clears the count, because the daemon has run long enough or ended cleanly.
func (s starts) survived() error {
	err := os.Remove(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// failureFile contains the storage failure that stopped the daemon, for the report of its next
// start.
func failureFile(data string) string { return filepath.Join(data, "kairosd.failure") }

// noteFailure writes the file. On a failing disk, that may fail too.
func noteFailure(data string, cause error) error {
	text := time.Now().UTC().Format(time.RFC3339) + ": " + cause.Error()
	return os.WriteFile(failureFile(data), []byte(text), 0o600)
}

// popFailure reads and removes the file of the previous daemon.
func popFailure(data string) (string, error) {
	text, err := os.ReadFile(failureFile(data))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(text)), os.Remove(failureFile(data))
}
