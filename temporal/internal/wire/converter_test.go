package wire_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// A value in a history is the same after it was read: absent values stay absent, and empty values stay empty.
func TestValuesSurviveAHistory(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)
	text := ""
	withdrawn := domain.Approval{ID: "p", Form: domain.RawJSON("{}")}
	withdrawn.Text = domain.Messagef("withdrawn by %s", "b")
	report := wire.Report{
		Run: domain.Run{ID: "r", Status: domain.RunFailed, CreatedAt: at, StatusMessage: domain.Messagef("%s failed after %d", "a", 3)},
		Checkpoints: []domain.Checkpoint{
			{Run: "r", Fence: 1, Entries: []domain.Entry{
				{Seq: 2, Kind: domain.EntryResult, Node: "a", Item: -1, Output: domain.RawJSON("[]"), At: at},
				{Seq: 3, Kind: domain.EntryResult, Node: "b", Output: domain.RawJSON("null"), Input: domain.RawJSON(`{"n":1.50}`), At: at},
				{Seq: 4, Kind: domain.EntryResult, Node: "c", At: at,
					Failure: &domain.Failure{Code: "failed", RetryAfter: domain.Millis(time.Second)}},
			}, Patch: &domain.RunPatch{Headline: &text, DueAt: &time.Time{}, Message: domain.Messagef("%s waits until %s", "a", at)}},
			{Run: "r", Fence: 4, Patch: &domain.RunPatch{Output: domain.RawJSON(`""`), EndedAt: &at,
				Error: &domain.RunError{Code: "c", Message: "a failed", Text: domain.Messagef("%s failed", "a")}},
				Approvals: []domain.Approval{withdrawn}},
		},
	}
	c := wire.Converter()
	payload, err := c.ToPayload(report)
	if err != nil {
		t.Fatal(err)
	}
	var got wire.Report
	if err := c.FromPayload(payload, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report, got, cmpopts.IgnoreUnexported(domain.Chain{})); diff != "" {
		t.Errorf("after (+) reading:\n%s\n%s", diff, payload.GetData())
	}
}
