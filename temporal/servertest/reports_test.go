package servertest

import (
	"log/slog"
	"syscall"
	"testing"

	enums "go.temporal.io/api/enums/v1"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/temporal/internal/connect"
)

// kairosd is killed while it has received a report and not answered it. The report is repeated when its heartbeats are missing, and
// not after a minute.
func TestAReportInFlightIsRepeatedSoon(t *testing.T) {
	s, b := startServer(t), openBank(t)
	k := s.kairosd()
	s.worker(s.config())
	run := k.begin(k.save(paymentOf(b, false)))
	<-b.booked // the first report is stored, or in flight
	if err := k.process.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-b.booked // reports of the steps since have reached kairosd, which does not run
	k.kill()
	k.up()
	k.until(run.ID, domain.RunCompleted, "")
	c, err := connect.Dial(t.Context(), connect.Server{Address: s.address, Namespace: "default"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lost := 0
	all := c.GetWorkflowHistory(t.Context(), run.ID, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for all.HasNext() {
		e, err := all.Next()
		if err != nil {
			t.Fatal(err)
		}
		begun := e.GetActivityTaskStartedEventAttributes()
		switch begun.GetLastFailure().GetTimeoutFailureInfo().GetTimeoutType() {
		case enums.TIMEOUT_TYPE_HEARTBEAT:
			lost++
		case enums.TIMEOUT_TYPE_START_TO_CLOSE:
			t.Error("a report was repeated after a minute")
		}
	}
	if lost == 0 {
		t.Error("no report was in flight when kairosd was killed")
	}
}
