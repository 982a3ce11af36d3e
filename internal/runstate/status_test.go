package runstate

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

func TestStatusMessages(t *testing.T) {
	t.Parallel()
	doc, problems := planner.Parse(
		[]byte(`{nodes: {a: {type: x, retry: {max_attempts: 3}}, b: {type: approval, input: {message: m}}, c: {type: x, needs: [a, b]}}}`),
		planner.WithFormat(planner.FormatYAML),
	)
	if doc == nil {
		t.Fatal(problems)
	}
	p, err := doc.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := New(p, Facts{Run: "r"})
	now := time.Unix(1000, 0).UTC()
	row := func(e domain.Entry) {
		t.Helper()
		e.Seq, e.At, e.Visit, e.Item, e.Attempt = s.Seq+1, now, 1, NoItem, 1
		if err := s.Apply(&e); err != nil {
			t.Fatal(err)
		}
	}
	unavailable := &domain.Failure{Code: walk.CodeFailed, Message: "503", Node: "a"}
	row(domain.Entry{Kind: domain.EntryResult, Node: "a", Status: domain.NodeFailed, Failure: unavailable})
	if s.HasWait(domain.WaitRetry) {
		t.Error("no wait is recorded")
	}
	row(domain.Entry{Kind: domain.EntryWait, Node: "a", Reason: string(domain.WaitRetry), DueAt: now})
	row(
		domain.Entry{
			Kind:   domain.EntryWait,
			Node:   "b",
			Reason: string(domain.WaitApproval),
			Ref:    "q",
			Input:  domain.RawJSON(`{"message": "m"}`),
		},
	)
	if !s.HasWait(domain.WaitRetry) || s.WaitingFor("q") == nil || s.WaitingFor("other") != nil {
		t.Error("a waits for its retry, b for the approval q")
	}
	waits := s.Waits()
	if text, node := WaitMessage(waits[0].Reason, waits); text.String() != "m" || node != "b" {
		t.Errorf("waiting: %q, %q", text, node)
	}
	if text, node := RetryMessage(s, waits[1]); text.String() != "a will be tried again after 1 of 3 attempts: 503" || node != "a" {
		t.Errorf("retry: %q, %q", text, node)
	}
	row(domain.Entry{Kind: domain.EntryResult, Node: "b", Final: true, Status: domain.NodeCompleted, Output: domain.RawJSON("1")})
	row(domain.Entry{Kind: domain.EntryResult, Node: "a", Final: true, Status: domain.NodeFailed, Failure: unavailable})
	if text, node := FailureMessage(s); text.String() != "a failed after 1 of 3 attempts: 503" || node != "a" {
		t.Errorf("failed: %q, %q", text, node)
	}
	if text, node := CompletedMessage(s); text.String() != "" || node != "" {
		t.Errorf("nothing was continued: %q, %q", text, node)
	}
}
