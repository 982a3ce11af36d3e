package cli

import (
	"runtime"
	"testing"
)

// What lives is let double, however much it is: the limit is for what is small.
func TestTheLimitMakesRoomForWhatLives(t *testing.T) {
	lives := make([]byte, 2*smallMemory)
	for i := 0; i < len(lives); i += 4096 {
		lives[i] = 1
	}
	runtime.GC()
	if got := usualMemory(); got < 4*smallMemory {
		t.Errorf("with %d MiB alive the limit is %d MiB", len(lives)>>20, got>>20)
	}
	runtime.KeepAlive(lives)
}
