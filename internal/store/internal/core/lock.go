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

// TakeLock locks a sidecar file for this process; the kernel releases it when
// the process ends, however it ends. SQLite alone would let two daemons share
// the file.
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
		if err != nil && !errors.Is(err, syscall.ENOSPC) { // the number is for people, the lock is held without it
			return nil, errors.Join(domain.Errorf(domain.CodeUnavailable, "cannot write the lock: %w", err), f.Close())
		}
	}
	return f, nil
}

// ReleaseLock gives the lock up at once: closing alone would leave it with a
// child process that was forked a moment ago and has not begun its program yet.
func ReleaseLock(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
