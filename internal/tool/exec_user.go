package tool

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Capabilities that are required to run a command as another user and to end it: to change the
// owner of its directory, to send it a signal, and to change group and user.
var execCapabilities = map[string]uint{"CAP_CHOWN": 0, "CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7}

// execUser is the user that runs commands. It must not be able to read kairosd's data.
type execUser struct{ uid, gid uint32 }

// newExecUser finds a user of this machine. It rejects root and kairosd's own user, who can read
// everything. It fails if kairosd may not change the user.
func newExecUser(name string) (*execUser, error) {
	if name == "" {
		return nil, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("tools.exec.user: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("tools.exec.user: %s has no numeric id: %w", name, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("tools.exec.user: the group of %s has no numeric id: %w", name, err)
	}
	if uid == 0 || int(uid) == os.Geteuid() {
		return nil, fmt.Errorf("tools.exec.user: %s can read the data of kairosd; use a separate user", name)
	}
	if lacking := lackingCapabilities(); len(lacking) > 0 {
		return nil, fmt.Errorf("tools.exec.user: kairosd cannot run commands as another user: it lacks %s", strings.Join(lacking, ", "))
	}
	return &execUser{uint32(uid), uint32(gid)}, nil
}

// lackingCapabilities returns the execCapabilities that this process does not have.
func lackingCapabilities() []string {
	if os.Geteuid() == 0 {
		return nil
	}
	var has uint64
	if text, err := os.ReadFile("/proc/self/status"); err == nil { // on other systems, only root has them
		for line := range strings.Lines(string(text)) {
			if mask, ok := strings.CutPrefix(line, "CapEff:"); ok {
				has, _ = strconv.ParseUint(strings.TrimSpace(mask), 16, 64) // none if it cannot be parsed
			}
		}
	}
	var lacking []string
	for name, bit := range execCapabilities {
		if has&(1<<bit) == 0 {
			lacking = append(lacking, name)
		}
	}
	slices.Sort(lacking)
	return lacking
}

// credential returns the credentials of the user, without supplementary groups.
func (u *execUser) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: u.uid, Gid: u.gid}
}

// own makes the user the owner of a call's directory.
func (u *execUser) own(dir string) error {
	if u == nil {
		return nil
	}
	return os.Chown(dir, int(u.uid), int(u.gid))
}
