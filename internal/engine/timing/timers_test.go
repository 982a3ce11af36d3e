package timing

import (
	"testing"
	"time"
)

// A forward jump of the clock is detected within a second, however late the next timer is.
func TestAForwardJumpIsNoticedWithinASecond(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	fired := 0
	tm := NewTimers(func() time.Time { return now }, func(string) { fired++ })
	tm.Set("run", now.Add(time.Hour))
	if wait := tm.fireDue(); wait > time.Second || fired != 0 {
		t.Errorf("the clock is looked at after %s; %d timers fired", wait, fired)
	}
	now = now.Add(time.Hour)
	if tm.fireDue(); fired != 1 {
		t.Errorf("%d timers fired after the jump, want 1", fired)
	}
}
