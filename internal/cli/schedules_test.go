package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Missed slots that wait for a decision need attention. The command that status prints decides
// about them.
func TestMissedSlotsNeedAttention(t *testing.T) {
	t.Parallel()
	sh := newShell(t)
	sh.expect(0, "plans", "add", sh.file("report.yaml", "id: report\nnodes:\n  say: {type: set, input: 1}\n"))
	sh.expect(0, "schedules", "create", "nightly", "--plan", "report", "--cron", "30 2 * * *", "--catch-up", "ask")
	s, err := store.Open(t.Context(), sh.env["KAIROS_DB"], store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.Schedule(t.Context(), "nightly")
	if err != nil {
		t.Fatal(err)
	}
	next := x.Next.Add(6 * 24 * time.Hour)
	err = s.MoveSchedule(t.Context(), x.ID, domain.SlotMove{From: x.Next, Next: next, Due: next, Missed: &domain.MissedSlots{
		ID: domain.NewID(), First: x.Next, Last: x.Next.Add(5 * 24 * time.Hour), Slots: 6, CreatedAt: time.Now()}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	out, _ := sh.expect(0, "status")
	for _, want := range []string{"6 slots missed", "report", "schedules decide nightly"} {
		if !strings.Contains(out, want) {
			t.Errorf("kairos status lacks %q:\n%s", want, out)
		}
	}
	sh.expect(0, "schedules", "decide", "nightly", "none")
	if out, _ := sh.expect(0, "status"); out != "nothing needs attention\n" {
		t.Error(out)
	}
}
