package engine

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// A run holds one slot, identified by its token, and keeps unused node slots until it returns them.
func TestSlots(t *testing.T) {
	t.Parallel()
	notified := 0
	var grants []slotGrant
	sched := newScheduler(1, 1, func(g slotGrant) { grants = append(grants, g) })
	one := slots{sched: sched, run: "one", granted: func() bool { notified++; return true }}
	two := slots{sched: sched, run: "two", granted: func() bool { notified++; return true }}
	if !one.take(&domain.Run{ID: "one"}) || two.take(&domain.Run{ID: "two"}) || !two.queued {
		t.Fatal("there is one slot")
	}
	if !one.takeNode(0, time.Time{}) || two.takeNode(0, time.Time{}) || two.takeNode(0, time.Time{}) || !two.nodeQueued {
		t.Fatal("there is one node slot")
	}
	one.returnNode()
	if notified != 0 || !one.takeNode(0, time.Time{}) {
		t.Fatal("a node slot that was kept is used again")
	}
	one.returnNode()
	one.releaseNodes()
	two.acceptNode()
	if notified != 1 || two.nodes != 1 || two.nodeQueued {
		t.Fatalf("told %d times; %+v", notified, two)
	}
	one.yield()
	if len(grants) != 1 || !two.accept(grants[0].token) || two.accept(grants[0].token+1) {
		t.Fatalf("granted %+v", grants)
	}
	if two.take(&domain.Run{ID: "two"}); two.token != grants[0].token {
		t.Error("a run that holds a slot takes another")
	}
	two.yield()
	if two.accept(grants[0].token) {
		t.Error("a slot that was given back is accepted")
	}
}
