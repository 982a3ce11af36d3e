package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"sync"
	"syscall"
)

// orphans remembers in a file which processes run, so that a start after a
// crash ends those that outlived it (M24).
type orphans struct {
	path string // empty: nothing is remembered
	mu   sync.Mutex
	pids map[int]string // by when they started
}

// reap ends the process groups of an earlier life.
func (o *orphans) reap() error {
	o.pids = map[int]string{}
	if o.path == "" {
		return nil
	}
	b, err := os.ReadFile(o.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read processes of an earlier life: %w", err)
	}
	before := map[int]string{}
	if err := json.Unmarshal(b, &before); err != nil {
		return fmt.Errorf("read processes of an earlier life from %s: %w", o.path, err)
	}
	for pid, started := range before {
		if pid > 1 && started != "" && startedAt(pid) == started {
			if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end process %d of an earlier life: %w", pid, err)
			}
		}
	}
	return o.write()
}

func (o *orphans) add(pid int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pids[pid] = startedAt(pid)
	return o.write()
}

func (o *orphans) remove(pid int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.pids, pid)
	return o.write()
}

func (o *orphans) write() error {
	if o.path == "" {
		return nil
	}
	b, err := json.Marshal(maps.Clone(o.pids))
	if err != nil {
		return err
	}
	// Not renamed into place: a torn file ends nobody's process, it is only read
	// by a start after a crash, which then says so.
	if err := os.WriteFile(o.path, b, 0o600); err != nil {
		return fmt.Errorf("remember processes: %w", err)
	}
	return nil
}
