package mcp

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// processAttributes starts a server in its own process group, and ends it when kairosd ends.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// startedAt returns the start time of a process, which distinguishes it from a later one with the
// same number. It is empty if the process does not exist.
func startedAt(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name before it may contain any character
	fields := strings.Fields(rest)
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}
