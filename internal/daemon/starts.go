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
	// A daemon that dies within youngDeath of its start, three times within
	// crashWindow, starts in safe mode.
	youngDeath       = 30 * time.Second
	DefaultCrashLoop = 3
	crashWindow      = 5 * time.Minute
)

// starts counts, in a file, the starts of the daemon that nothing has ended
// well yet.
type starts struct{ path string }

func startsOf(data string) starts { return starts{filepath.Join(data, "kairosd.starts")} }

// begin notes a start and reports how many before it, within the window, died
// young. A file that cannot be read counts as none: it must not keep the daemon
// from starting.
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

// survived forgets all starts: this one lived long enough, or ended by itself.
func (s starts) survived() error {
	err := os.Remove(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// failureFile tells the next daemon, and through it the operator, why storage
// stopped this one.
func failureFile(data string) string { return filepath.Join(data, "kairosd.failure") }

// noteFailure writes it; the disk may refuse that too.
func noteFailure(data string, cause error) error {
	text := time.Now().UTC().Format(time.RFC3339) + ": " + cause.Error()
	return os.WriteFile(failureFile(data), []byte(text), 0o600)
}

// takeFailure reads and removes what the daemon before this one left.
func takeFailure(data string) (string, error) {
	text, err := os.ReadFile(failureFile(data))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(text)), os.Remove(failureFile(data))
}
