package domain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// A problem is stated only if a run or a step needs a worker that is not there.
func TestProblemsOfWorkers(t *testing.T) {
	t.Parallel()
	some := []domain.Worker{{Identity: "1@a"}}
	runs := func(w []domain.Worker) domain.WorkerQueue {
		return domain.WorkerQueue{Driver: 2, Current: true, Workers: w}
	}
	old := func(waiting int64, w []domain.Worker) domain.WorkerQueue {
		return domain.WorkerQueue{Driver: 1, Waiting: waiting, Workers: w}
	}
	gpu := func(waiting int64, w []domain.Worker) domain.WorkerQueue {
		return domain.WorkerQueue{Name: "gpu", Driver: 2, Current: true, Waiting: waiting, Workers: w}
	}
	for name, c := range map[string]struct {
		w    domain.Workers
		want string
	}{
		"not checked": {domain.Workers{}, ""},
		"no worker":   {domain.Workers{Queues: []domain.WorkerQueue{runs(nil)}}, "Start a worker: kairos-temporal worker"},
		"a worker":    {domain.Workers{Queues: []domain.WorkerQueue{runs(some), gpu(0, nil)}}, ""},
		"old workers": {domain.Workers{Queues: []domain.WorkerQueue{runs(nil), old(0, some)}}, "Upgrade the workers"},
		"an old run":  {domain.Workers{Queues: []domain.WorkerQueue{runs(some), old(3, nil)}}, "Unfinished runs: 3"},
		"a named queue": {domain.Workers{Queues: []domain.WorkerQueue{runs(some), gpu(2, nil)}},
			"2. Start a worker: kairos-temporal worker --offer gpu"},
		"an offer":    {domain.Workers{Queues: []domain.WorkerQueue{runs(some), gpu(2, some)}}, ""},
		"unreachable": {domain.Workers{Unreachable: "refused", Queues: []domain.WorkerQueue{runs(nil)}}, "not available: refused"},
	} {
		var texts []string
		for _, m := range c.w.Messages() {
			texts = append(texts, m.String())
		}
		if got := strings.Join(texts, "\n"); !strings.Contains(got, c.want) || (c.want == "") != (got == "") || len(texts) > 1 {
			t.Errorf("%s: %q", name, got)
		}
	}
	for want, w := range map[string]domain.WorkerWait{
		"No worker offers the queue gpu. Steps that wait for it: 1": {Queue: "gpu", Steps: 1, Since: time.Now()},
		"no worker executes it":                          {},
		"worker of the queue gpu is free: 2. Workers: 1": {Queue: "gpu", Steps: 2, Workers: 1},
		"waits until a worker is free. Workers: 3":       {Workers: 3},
	} {
		if got := w.Message().String(); !strings.Contains(got, want) {
			t.Errorf("%+v: %q", w, got)
		}
	}
}
