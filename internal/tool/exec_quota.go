package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// CodeQuota is the failure code of a command that exceeded a quota (M06).
const CodeQuota = "quota"

// quotaEvery is the interval of the quota checks. A command may exceed its quota between two
// checks. Control groups would prevent this, but an unprivileged service cannot use them
// everywhere.
const quotaEvery = 50 * time.Millisecond

// usage is the current resource usage of a process group.
type usage struct {
	processes int
	memory    int64 // resident, in bytes
}

// overQuota is the cause of a command's end because of an exceeded quota.
type overQuota struct{ what message.Message }

func (o *overQuota) Error() string { return o.what.String() }

// watch checks a command's process group until ctx ends. If the group exceeds a quota, watch ends
// it with tooMuch. own is a directory that only this command uses.
func (t *execTool) watch(ctx context.Context, group int, own string, tooMuch context.CancelCauseFunc) {
	tick := time.NewTicker(quotaEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		u := groupUsage(group)
		var over message.Message
		switch {
		case u.processes > t.config.MaxProcesses:
			over = message.New("ran more than %d processes", t.config.MaxProcesses)
		case u.memory > t.config.MaxMemory:
			over = message.New("held more than %d MiB of memory", t.config.MaxMemory>>20)
		case own != "" && n%4 == 0 && size(own) > t.config.MaxDisk:
			over = message.New("wrote more than %d MiB into its directory", t.config.MaxDisk>>20)
		}
		if !over.IsZero() {
			// Kill at once instead of sending SIGTERM, because the command may be about to exhaust
			// the machine.
			_ = syscall.Kill(-group, syscall.SIGKILL) // the group may have ended in the meantime
			tooMuch(&overQuota{over})
			return
		}
	}
}

// size returns the total size of a directory. Files that disappear during the walk do not count.
func size(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// endGroup ends the remaining processes of a command, including new ones that they start in the
// meantime.
func endGroup(group int) error {
	for range 100 {
		if err := syscall.Kill(-group, syscall.SIGKILL); errors.Is(err, syscall.ESRCH) {
			return nil
		} else if err != nil {
			return err
		}
		if groupUsage(group).processes == 0 {
			return nil
		}
	}
	return fmt.Errorf("processes of group %d continue", group)
}

// quotaFailure returns the failure of a command that exceeded a quota.
func quotaFailure(path string, o *overQuota, stderr string) *walk.Failure {
	return (&walk.Failure{Code: CodeQuota, Permanent: true, Detail: stderr,
		Suggestion: "raise max_memory, max_processes or max_disk under tools.exec if it is meant to"}).
		WithMessage("%s %s and was killed", path, o.what)
}
