package cli

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
)

// giveBack returns what starting took and nothing needs any more: garbage, of
// which a start makes more than an idle daemon in hours, and those pages of the
// binary itself that only a start runs through. What is wanted again comes back
// from the system's cache.
func giveBack() error {
	debug.FreeOSMemory()
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for line := range bytes.Lines(maps) {
		var from, to uintptr
		var mode string
		if n, err := fmt.Sscanf(string(line), "%x-%x %s", &from, &to, &mode); n != 3 || err != nil {
			return fmt.Errorf("read /proc/self/maps: %q: %w", line, err)
		}
		// Pages that may be written hold what was written to them.
		if strings.Contains(mode, "w") || !strings.HasSuffix(strings.TrimSpace(string(line)), " "+binary) {
			continue
		}
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("give back pages of the binary: %w", errno)
		}
	}
	return nil
}
