//go:build !linux

package mcp

import "syscall"

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// startedAt is not available on this system, so that processes of the previous generation keep
// running.
func startedAt(int) string { return "" }
