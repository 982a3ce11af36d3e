package cli

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"
)

// smallMemory is what the daemon's own memory (not SQLite's, nor the pages of
// the binary) is held to where that is enough: while a storm of requests comes
// in the collector looks sooner, instead of letting garbage double what is there.
const smallMemory = 27 << 20

// boundMemory holds the daemon to smallMemory, or to what it would take without
// a limit once more than that has lived in it for some seconds, so that a daemon
// with much to do collects no more often than it otherwise would. GOMEMLIMIT in
// the environment stands instead.
func boundMemory(ctx context.Context) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var lately [5]int64
	for limit, i := int64(0), 0; ; i++ {
		lately[i%len(lately)] = usualMemory()
		if wanted := max(smallMemory, slices.Min(lately[:])); wanted != limit {
			limit = wanted
			debug.SetMemoryLimit(limit)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// usualMemory is what the collector lets the daemon grow to by itself: twice of
// what lives in the heap, and what is there beside it, as stacks; in steps of
// 4 MiB.
func usualMemory() int64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(s)
	of := func(i int) int64 { return int64(s[i].Value.Uint64()) }
	beside := of(1) - of(2) - of(3) - of(4) - of(5)
	const step = 4 << 20
	return (2*of(0) + beside + step - 1) / step * step
}
