package mcp_test

import (
	"os/signal"
	"syscall"
)

// ignore makes a process ignore SIGTERM.
func ignore() { signal.Ignore(syscall.SIGTERM) }
