//go:build !linux

package mcp

import "syscall"

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// startedAt is not available here: processes of the previous generation are left alone.
func startedAt(int) string { return "" }
