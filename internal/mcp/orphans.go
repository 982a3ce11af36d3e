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

// orphans lists the running processes in a file, so that a start after a crash ends those that
// survived it.
type orphans struct {
	path string // empty: no file
	mu   sync.Mutex
	pids map[int]string // start times of processes, by process id
}

// reap ends the process groups of the previous generation.
func (o *orphans) reap() error {
	o.pids = map[int]string{}
	if o.path == "" {
		return nil
	}
	b, err := os.ReadFile(o.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read the list of MCP processes: %w", err)
	}
	before := map[int]string{}
	if err := json.Unmarshal(b, &before); err != nil {
		return fmt.Errorf("read the list of MCP processes in %s: %w", o.path, err)
	}
	for pid, started := range before {
		if pid > 1 && started != "" && startedAt(pid) == started {
			if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end MCP process %d of the previous generation: %w", pid, err)
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
	// The file is not replaced atomically: a torn file ends no process, and is read only by a
	// start after a crash, which then logs it.
	if err := os.WriteFile(o.path, b, 0o600); err != nil {
		return fmt.Errorf("write the list of MCP processes: %w", err)
	}
	return nil
}
