//go:build !linux

package mcp

import "syscall"

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// startedAt is not known here: processes of an earlier life are left alone.
func startedAt(int) string { return "" }
