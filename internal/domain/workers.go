package domain

import (
	"strings"
	"time"
)

// Workers describes the workers of a server whose runs Temporal executes.
type Workers struct {
	// CheckedAt is the time of the last check. It is zero before the first one.
	CheckedAt time.Time `json:"checkedAt,omitzero"`
	// Unreachable is the reason why the Temporal server did not answer, or empty. Queues then has the result before.
	Unreachable string        `json:"unreachable,omitempty"`
	Queues      []WorkerQueue `json:"queues"`
	// Problems states what prevents runs from continuing, and what to do. See [Workers.Messages].
	Problems []string `json:"problems,omitempty"`
}

// WorkerQueue is a task queue that runs or steps need.
type WorkerQueue struct {
	// Name is the queue as plans name it. It is empty for runs, and for steps without a queue.
	Name      string `json:"name,omitempty"`
	TaskQueue string `json:"taskQueue"` // its name on the Temporal server
	// Driver is the version of the driver that its runs follow. New runs follow the current one.
	Driver  int  `json:"driver"`
	Current bool `json:"current,omitempty"`
	// Waiting is the number of steps that wait in a named queue, or of unfinished runs with an older driver.
	Waiting int64    `json:"waiting"`
	Workers []Worker `json:"workers"`
}

// Worker is a process that works on a queue.
type Worker struct {
	Identity string    `json:"identity"` // process and host
	SeenAt   time.Time `json:"seenAt"`   // the last time that it asked for work, which it does at least once per minute
}

// Messages returns the problems. It returns nothing if they are not known.
func (w *Workers) Messages() (list []Message) {
	if w.Unreachable != "" {
		return []Message{Messagef("The Temporal server is not available: %s. New runs and actions wait until it is.", w.Unreachable)}
	}
	older := false // a worker of an older version is there
	for i := range w.Queues {
		older = older || w.Queues[i].Name == "" && len(w.Queues[i].Workers) > 0
	}
	for i := range w.Queues {
		q := &w.Queues[i]
		switch {
		case len(q.Workers) > 0:
		case q.Name != "" && q.Waiting > 0:
			list = append(list, Messagef("No worker offers the queue %s. Steps that wait for it: %d. Start a worker: %s", q.Name, q.Waiting,
				"kairos-temporal worker --offer "+q.Name))
		case q.Name == "" && q.Current && older:
			list = append(list, Messagef("All workers are older than this kairosd. New runs wait. Upgrade the workers."))
		case q.Name == "" && q.Current:
			list = append(list, Messagef("No worker executes runs. Start a worker: %s", "kairos-temporal worker"))
		case q.Name == "" && q.Waiting > 0:
			list = append(list, Messagef("No worker executes the runs that began with version %d of the driver. Unfinished runs: %d. "+
				"Start a worker that has this version.", q.Driver, q.Waiting))
		}
	}
	return list
}

// Serving returns the identities of all workers, in order.
func (w *Workers) Serving() (list []string) {
	seen := map[string]bool{}
	for i := range w.Queues {
		for _, k := range w.Queues[i].Workers {
			if !seen[k.Identity] {
				seen[k.Identity] = true
				list = append(list, k.Identity)
			}
		}
	}
	return list
}

// WorkerWait states that a run, or steps of it, wait for a worker.
type WorkerWait struct {
	// Queue is the queue that the plan names, or empty.
	Queue string `json:"queue,omitempty" doc:"The queue that the plan names; absent: the queue of runs."`
	Steps int    `json:"steps" doc:"The number of steps that wait; 0: the run waits."`
	// Since is when the first of them began to wait.
	Since   time.Time `json:"since" doc:"When the first of them began to wait."`
	Workers int       `json:"workers" doc:"The number of workers of the queue. They are busy."`
}

// Message describes the wait, and what to do.
func (w WorkerWait) Message() Message {
	start := strings.TrimSpace("kairos-temporal worker " + map[bool]string{true: "--offer " + w.Queue}[w.Queue != ""])
	switch {
	case w.Workers > 0 && w.Queue != "":
		return Messagef("Steps wait until a worker of the queue %s is free: %d. Workers: %d.", w.Queue, w.Steps, w.Workers)
	case w.Workers > 0:
		return Messagef("This run waits until a worker is free. Workers: %d.", w.Workers)
	case w.Queue != "":
		return Messagef("No worker offers the queue %s. Steps that wait for it: %d. Start a worker: %s", w.Queue, w.Steps, start)
	}
	return Messagef("This run waits, because no worker executes it. Start a worker: %s", start)
}
