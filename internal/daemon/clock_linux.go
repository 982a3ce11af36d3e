package daemon

import (
	"syscall"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// staUnsync is the kernel's flag of a clock that is not synchronized (timex.h).
const staUnsync = 0x40

// machineClock reads from the kernel whether the clock is synchronized, and its largest error.
func machineClock() domain.Clock {
	var t syscall.Timex
	if _, err := syscall.Adjtimex(&t); err != nil {
		return domain.Clock{}
	}
	return domain.Clock{Known: true, Synced: t.Status&staUnsync == 0, Within: domain.Millis(time.Duration(t.Maxerror) * time.Microsecond)}
}
