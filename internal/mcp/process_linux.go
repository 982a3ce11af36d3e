package mcp

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// processAttributes put a server in a group of its own and let it die with us.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// startedAt tells one process from a later one of the same number; empty: there
// is no such process.
func startedAt(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name before may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}
