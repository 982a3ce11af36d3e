package mcp_test

import (
	"os/signal"
	"syscall"
)

// ignore makes a process that does not end on SIGTERM.
func ignore() { signal.Ignore(syscall.SIGTERM) }
