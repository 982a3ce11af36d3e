package system_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The health page of a server with Temporal lists the workers of each queue, and shows a missing one as a metric with advice.
func TestWorkersOnTheHealthPage(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	now := time.Now()
	w := &domain.Workers{CheckedAt: now, Queues: []domain.WorkerQueue{
		{TaskQueue: "kairosd", Driver: 1, Current: true,
			Workers: []domain.Worker{{Identity: "17@<one>", SeenAt: now.Add(-20 * time.Second)}}},
		{Name: "gpu", TaskQueue: "kairosd.gpu", Driver: 1, Current: true, Waiting: 2},
	}}
	site.System.Set(domain.Server{Version: "test", Started: now, Workers: w})
	site.System.SetHealthMetrics(domain.HealthMetrics{At: now, Working: 17, Queued: 3})
	b := site.Browser(t).Login()
	p := b.Get("/system")
	for _, want := range []string{"Workers of runs", "17@&lt;one&gt;", "Workers of queue gpu", "1 worker",
		"No worker offers the queue gpu. Steps that wait for it: 2. Start a worker: kairos-temporal worker --offer gpu"} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	if strings.Contains(p.Body, "slots") {
		t.Error("the page shows slots, which do not apply")
	}
	attention, _, _ := strings.Cut(p.Body, `id="health"`)
	if !strings.Contains(attention, "--offer gpu") {
		t.Error("the missing worker is not among what needs attention")
	}
	site.System.Set(domain.Server{Version: "test", Started: now})
	if p := b.Get("/system"); strings.Contains(p.Body, "Workers of runs") {
		t.Error("a server without Temporal shows workers")
	}
}
