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

// Oldest is the oldest version that this driver can execute. It increases when the code of older versions is removed. kairosd shows
// unfinished runs that follow one of these, until a worker of an earlier release has ended them.
const Oldest = 1

// Queues returns the task queues of runs that this driver can execute.
func Queues(queue string) []string { return queuesSince(queue, Oldest) }

// AllQueues returns the task queues of all runs that may exist, also of those that this driver cannot execute.
func AllQueues(queue string) []string { return queuesSince(queue, 1) }

func queuesSince(queue string, oldest int) (list []string) {
	for v := oldest; v <= Version; v++ {
		list = append(list, wire.RunsOf(queue, v))
	}
	return list
}

// check panics if the driver cannot execute a run, which is on the wrong task queue. The workflow task fails, and is repeated.
func check(in wire.Input) {
	if max(in.Driver, 1) < Oldest {
		panic(fmt.Sprintf("driver: run %s follows version %d of the driver, and this worker executes versions from %d on; "+
			"start a worker of an earlier release", in.Run.ID, in.Driver, Oldest))
	}
	if in.Driver > Version {
		panic(fmt.Sprintf("driver: run %s follows version %d of the driver, and this worker has version %d; upgrade the worker",
			in.Run.ID, in.Driver, Version))
	}
}
