package core

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/kairosd/kairosd/internal/domain"
)

// TakeLock locks a separate file for this process. The kernel releases the lock when the process
// ends in any way. SQLite alone would permit two daemons to share the database.
func TakeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "cannot open the lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		b, _ := io.ReadAll(io.LimitReader(f, 32))
		closeErr := f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(domain.Errorf(domain.CodeUnavailable, "cannot lock %s: %w", path, err), closeErr)
		}
		holder := "another process"
		if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			holder = fmt.Sprintf("process %d", pid)
		}
		return nil, domain.Errorf(domain.CodeLocked, "%s has the database open", holder).
			Suggest("wait for it, or start kairosd serve so that commands share the database")
	}
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
		if err != nil && !errors.Is(err, syscall.ENOSPC) { // the process ID is only shown to people; the lock works without it
			return nil, errors.Join(domain.Errorf(domain.CodeUnavailable, "cannot write the lock: %w", err), f.Close())
		}
	}
	return f, nil
}

// ReleaseLock releases the lock immediately. Closing the file alone would leave the lock with a
// child process between fork and exec.
func ReleaseLock(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
