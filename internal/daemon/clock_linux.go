package daemon

import (
	"syscall"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// staUnsync is the kernel's mark of a clock that nothing keeps right (timex.h).
const staUnsync = 0x40

// machineClock asks the kernel whether something keeps the clock right, and how far
// off it may be. It only reads.
func machineClock() domain.Clock {
	var t syscall.Timex
	if _, err := syscall.Adjtimex(&t); err != nil {
		return domain.Clock{}
	}
	return domain.Clock{Known: true, Synced: t.Status&staUnsync == 0, Within: time.Duration(t.Maxerror) * time.Microsecond}
}
