package driver

import (
	"fmt"

	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Version is the version of the driver that new runs follow. It increases with each change after which a history would replay
// with other commands:
//
//	if r.in.Driver >= 2 {
//		// the new behavior
//	}
//
// A run keeps the version with which it began, also when it continues in another workflow run. 0 is the driver of runs that
// began before versions existed, and equals 1. Each version has a task queue, so that a worker receives no newer runs.
const Version = 1

// Queues returns the task queues of runs that this driver can execute.
func Queues(queue string) (list []string) {
	for v := 1; v <= Version; v++ {
		list = append(list, wire.RunsOf(queue, v))
	}
	return list
}

// check panics if the driver is too old for a run, which is on the wrong task queue. The workflow task fails, and is repeated.
func check(in wire.Input) {
	if in.Driver > Version {
		panic(fmt.Sprintf("driver: run %s follows version %d of the driver, and this worker has version %d; upgrade the worker",
			in.Run.ID, in.Driver, Version))
	}
}
