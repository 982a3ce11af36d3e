package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

var queryName = regexp.MustCompile(`(?m)^-- name: (\w+) :`)

// recorder forwards queries and records their names.
type recorder struct {
	dbsqlc.DBTX
	mu   *sync.Mutex
	seen map[string]bool
}

func (r recorder) note(query string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range queryName.FindAllStringSubmatch(query, -1) {
		r.seen[m[1]] = true
	}
}

func (r recorder) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	r.note(query)
	return r.DBTX.ExecContext(ctx, query, args...)
}

func (r recorder) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	r.note(query)
	return r.DBTX.QueryContext(ctx, query, args...)
}

func (r recorder) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	r.note(query)
	return r.DBTX.QueryRowContext(ctx, query, args...)
}

func openStore(tb testing.TB) *Store {
	tb.Helper()
	s, err := Open(context.Background(), filepath.Join(tb.TempDir(), "kairos.db"), Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func putVersion(tb testing.TB, s *Store, key, hash string) domain.Version {
	tb.Helper()
	_, v, _, err := s.PutVersion(
		context.Background(),
		domain.NewVersion{Key: key, Name: key, Hash: hash, Kind: "graph", Format: "yaml", Origin: "cli",
			Semantics: 1, Source: []byte("id: " + key), Canonical: []byte("{}"), Author: "t"},
		domain.System,
	)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// The generator also accepts queries that fail or return wrong results, so this test runs every
// query with a real file.
func TestEveryQueryRuns(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	ctx := context.Background()
	rec := recorder{mu: new(sync.Mutex), seen: map[string]bool{}}
	rec.DBTX = s.read
	s.q = dbsqlc.New(rec)
	s.db.Q = s.q
	rec.DBTX = s.writer.conn
	s.writer.q = dbsqlc.New(rec)
	if err := s.begin(ctx, s.writer.conn, s.writer.q, false); err != nil { // the open count, because nothing has been written
		t.Fatal(err)
	}
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	now := time.Now()
	v := putVersion(t, s, "p", strings.Repeat("a", 64))
	v2 := putVersion(t, s, "p", strings.Repeat("b", 64))
	parent, _, err := s.CreateRun(
		ctx,
		domain.NewRun{Hash: v.Hash, Actor: "t", Origin: "api", Key: "k", Labels: map[string]string{"env": "prod"},
			Concurrency: &domain.Concurrency{
				Key:        "c",
				Limit:      1,
				OnConflict: "queue",
			}, Audit: []domain.AuditRecord{{Action: "run.created", Actor: "t"}}},
	)
	must("create", err)
	again, created, err := s.CreateRun(ctx, domain.NewRun{Hash: v.Hash, Actor: "t", Origin: "api", Key: "k"})
	if must("create again", err); created || again.ID != parent.ID {
		t.Errorf("a second run for one key: %v %s", created, again.ID)
	}
	child, _, err := s.CreateRun(
		ctx,
		domain.NewRun{Hash: v.Hash, Actor: "t", Origin: "child", Parent: &domain.ParentRef{Run: parent.ID, Node: "n", Visit: 1, Item: -1},
			Lineage: domain.Lineage{ForkedFrom: parent.ID, ForkSeq: 1, RerunOf: parent.ID}, Status: domain.RunWaiting,
			Entries: []domain.Entry{{Kind: domain.EntryResult, Node: "n", Visit: 1, Item: -1, At: now,
				Status: domain.NodeCompleted, Final: true, Output: domain.RawJSON(`1`)}},
			Audit: []domain.AuditRecord{{Action: "run.created", Actor: "t"}}},
	)
	must("create child", err)
	headline := "at work"
	approval := domain.Approval{
		ID:        domain.NewID(),
		PlanKey:   "p",
		Node:      "ask",
		Visit:     1,
		Item:      -1,
		Message:   "?",
		Digest:    "d",
		Status:    "pending",
		CreatedAt: now,
	}
	must(
		"progress",
		s.Commit(
			ctx,
			domain.Checkpoint{
				Run:   parent.ID,
				Fence: 0,
				Patch: &domain.RunPatch{Headline: &headline, AddUsage: domain.Usage{InputTokens: 5}},
				Entries: []domain.Entry{
					{
						Kind:    domain.EntryResult,
						Node:    "n",
						Visit:   1,
						Item:    -1,
						Attempt: 3,
						At:      now,
						Output:  domain.RawJSON(`"` + strings.Repeat("y", 5000) + `"`),
					},
				},
			},
		),
	)
	must(
		"advance",
		s.Commit(ctx, domain.Checkpoint{Run: parent.ID, Fence: 1, Entries: []domain.Entry{{Kind: domain.EntryAction, Item: -1, At: now}},
			Patch: &domain.RunPatch{
				Status: domain.RunFailed,
				Error:  &domain.RunError{Code: "x", Message: "m"},
				Limits: &domain.Limits{MaxSteps: 5},
				Hash:   v2.Hash,
			},
			Handoffs: []domain.Handoff{
				{ID: domain.NewID(), Run: parent.ID, Seq: 2, From: "a", To: "b", Node: "n", Reason: "plan_step", At: now},
			},
			Messages: []domain.AgentMessage{
				{
					ID:       domain.NewID(),
					From:     "a",
					To:       "b",
					Type:     domain.MessageRequest,
					Metadata: domain.MessageMetadata{Timestamp: now, Priority: "low"},
				},
			},
			Memory:    &domain.Memory{Owner: "t", Session: "s", Input: "the first word", Output: "yes", At: now},
			Uses:      []domain.Use{{Kind: domain.UseAgent, Name: "writer"}, {Kind: domain.UseAgent, Name: "writer"}},
			Approvals: []domain.Approval{approval}, Audit: []domain.AuditRecord{{Action: "note", Actor: "t"}}}),
	)
	got, err := s.Run(ctx, parent.ID)
	if must("run", err); got.Version != 2 || got.Usage.InputTokens != 5 || got.Error == nil || got.Limits.MaxSteps != 5 ||
		got.Headline != headline {
		t.Errorf("run after checkpoints: %+v", got)
	}
	everyDraftQuery(t, s, must)
	everyBulkQuery(t, s, parent.ID, must)
	retried, err := s.Runs(ctx, domain.RunFilter{MinAttempts: 2})
	if must("retried", err); len(retried.Items) != 1 || retried.Items[0].ID != parent.ID {
		t.Errorf("%d runs were retried", len(retried.Items))
	}
	everyFailureQuery(t, s, must)
	used, err := s.Uses(ctx, parent.ID)
	if must("uses", err); len(used) != 1 || used[0].Name != "writer" {
		t.Errorf("%+v", used)
	}
	_, err = s.FindRun(ctx, parent.ID[22:])
	must("find", err)
	journal, err := s.Journal(ctx, parent.ID, 0)
	if must("journal", err); len(journal) != 2 || len(journal[0].Output) != 5002 {
		t.Errorf("journal: %d rows", len(journal))
	}
	for what, n := range map[string]int{parent.ID: 4, child.ID: 2} {
		events, err := s.EventsAfter(ctx, 0, what, 10)
		if must("events", err); len(events) != n {
			t.Errorf("events of a run: %d, want %d: %+v", len(events), n, events)
		}
		for i := range len(events) {
			rest, err := s.EventsAfter(ctx, events[i].Seq, what, 10)
			if must("events", err); len(rest) != n-i-1 {
				t.Errorf("events after %d: %d, want %d", events[i].Seq, len(rest), n-i-1)
			}
		}
	}
	_, err = s.EventsAfter(ctx, 0, "", 10)
	must("events", err)
	_, err = s.Unfinished(ctx)
	must("unfinished", err)
	_, err = s.ActiveByConcurrency(ctx, "c")
	must("by concurrency", err)
	relatives, err := s.Lineage(ctx, parent.ID)
	if must("lineage", err); len(relatives) == 0 {
		t.Error("no relatives")
	}
	_, err = s.RunCounts(ctx)
	must("counts", err)
	for _, f := range []domain.RunFilter{{IDTail: parent.ID[20:]}, {Text: "work"}} {
		list, err := s.Runs(ctx, f)
		if must("runs", err); len(list.Items) != 1 {
			t.Errorf("runs %+v: %d", f, len(list.Items))
		}
	}
	must("delete", s.Commit(ctx, domain.Checkpoint{Run: parent.ID, Fence: 2, Patch: &domain.RunPatch{DeletedAt: &now}}))
	_, err = s.Handoffs(ctx, parent.ID)
	must("handoffs", err)
	_, err = s.Messages(ctx, parent.ID)
	must("messages", err)
	must(
		"remember",
		s.Commit(ctx, domain.Checkpoint{Run: child.ID, Fence: 1, Entries: []domain.Entry{{Kind: domain.EntryAction, Item: -1, At: now}},
			Memory:    &domain.Memory{Owner: "t", Session: "s", Input: "the second", Output: "no", At: now},
			SkillRuns: []domain.SkillRun{{Skill: "write", Bound: "ana", Time: time.Second, Tokens: 10, At: now}}}),
	)
	medians, err := s.SkillMedians(ctx, "write", "ana")
	if must("medians", err); medians.Runs != 1 {
		t.Errorf("medians %+v", medians)
	}
	known, err := s.Recollect(ctx, "t", "s", "word", 1)
	if must("recollect", err); len(known) != 2 {
		t.Errorf("recollected %+v", known)
	}
	sessions, err := s.MemorySessions(ctx, "t", domain.Page{})
	if must("sessions", err); len(sessions.Items) == 0 {
		t.Error("no sessions")
	}
	_, err = s.Memories(ctx, "t", "s", domain.Page{})
	must("memories", err)
	_, _, err = s.Do(Operation{Name: "forget-memory"}, func(tx *Tx) (string, error) { _, err := tx.Forget("t", "s"); return "", err })
	must("forget", err)
	_, err = s.Approval(ctx, approval.ID)
	must("approval", err)
	assign := func(to, reason string) error {
		_, _, err := s.Do(
			Operation{Name: "assign-approval", Action: "approval.assign", By: domain.System, At: time.Now()},
			func(tx *Tx) (string, error) {
				p, err := tx.AssignApproval(approval.ID, "", to, reason)
				return p.ID, err
			},
		)
		return err
	}
	must("assign", assign("ana", "knows it"))
	if err := assign("otto", ""); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("assigned over another: %v", err)
	}
	if n, err := s.ApprovalsCount(ctx, domain.ApprovalFilter{For: "otto"}, 10); err != nil || n != 0 {
		t.Errorf("%d for somebody else, %v", n, err)
	}
	first, err := s.Approvals(ctx, domain.ApprovalFilter{})
	if must("approvals", err); len(first.Items) != 1 {
		t.Errorf("approvals: %d", len(first.Items))
	}
	_, err = s.Approvals(
		ctx,
		domain.ApprovalFilter{
			Page: domain.Page{Before: core.CursorEncoding.EncodeToString([]byte("0-0." + core.Check("approvals", "0-0")))},
		},
	)
	must("approvals", err)
	_, err = s.Approvals(ctx, domain.ApprovalFilter{Run: parent.ID})
	must("approvals", err)
	_, err = s.Plans(ctx, domain.PlanFilter{Text: "p"})
	must("plans", err)
	_, err = s.Plans(ctx, domain.PlanFilter{Page: domain.Page{Before: core.Cursor("plans", 1) + "-" + core.Cursor("plans", 1)}})
	must("plans", err)
	_, err = s.Versions(ctx, v.PlanID)
	must("versions", err)
	_, err = s.VersionByNumber(ctx, v.PlanID, 1)
	must("version", err)
	_, err = s.Plan(ctx, v.PlanID)
	must("plan", err)
	of, err := s.VersionRuns(ctx, v.PlanID, now.Add(-24*time.Hour))
	if must("runs of versions", err); of == nil {
		t.Error("no runs of versions")
	}
	draft, _, _, err := s.PutVersion(
		ctx,
		domain.NewVersion{
			Key:       "drafted",
			Hash:      strings.Repeat("d", 64),
			Kind:      "graph",
			Format:    "json",
			Origin:    "planner",
			Semantics: 1,
			Source:    []byte("{}"),
			Canonical: []byte("{}"),
			Facts:     []domain.PlanFact{{Kind: domain.FactTool, Value: "http"}},
		},
		domain.System,
	)
	if must("draft", err); draft.Stage != domain.StageDraft {
		t.Errorf("a planner's plan has the stage %q", draft.Stage)
	}
	facts, err := s.PlanFacts(ctx, "drafted")
	if must("facts", err); len(facts) != 1 || facts[0].Value != "http" {
		t.Errorf("facts: %v", facts)
	}
	draft, err = s.AcceptPlan(ctx, draft.ID, domain.System, "")
	if must("accept", err); draft.Stage != domain.StageUsed {
		t.Errorf("an accepted plan has the stage %q", draft.Stage)
	}
	for range 2 { // the second time, the key is known
		_, _, err = s.Do(Operation{Name: "archive-plan", Key: "k"}, func(tx *Tx) (string, error) {
			return v.PlanID, errors.Join(tx.ArchivePlan(v.PlanID, time.Now()), tx.PausePlan(v.PlanID, nil))
		})
		must("archive", err)
	}
	if p, err := s.Plan(ctx, "p"); err != nil || !p.Archived {
		t.Errorf("archived: %+v, %v", p, err)
	}
	everything := domain.Retention{
		Default: domain.RetentionRule{Completed: time.Nanosecond, Failed: time.Nanosecond, Cancelled: time.Nanosecond, Keep: 1},
		MaxSize: 1,
	}
	would, err := s.Retain(ctx, everything, domain.System, true)
	if must("retention", err); would.Runs != 1 || would.Plans[0].Plan.Key != "p" || would.Bytes != 0 {
		t.Errorf("would remove %+v", would)
	}
	plans, err := s.PlanStorage(ctx)
	if must("storage", err); len(plans) == 0 || plans[0].Rows == 0 || plans[0].Bytes == 0 {
		t.Errorf("storage: %+v", plans)
	}
	s.now = func() time.Time { return now.Add(2 * orphanAge) } // makes payloads old enough
	s.db.Now = s.now
	report, err := s.VerifyAudit(ctx)
	if must("verify", err); len(report.Problems) > 0 {
		t.Errorf("audit: %v", report.Problems)
	}
	if purged, err := s.Retain(ctx, domain.Retention{MaxSize: 1}, domain.System, false); err != nil || purged.Runs != 1 ||
		purged.Plans[0].Reason != "size" {
		t.Errorf("retention by size: %+v, %v", purged, err)
	}
	if err := s.PurgeRun(ctx, child.ID, domain.System, "old"); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("purged a run that waits: %v", err)
	}
	if rows, err := s.Journal(ctx, parent.ID, 0); err != nil || len(rows) != 0 {
		t.Errorf("a purged journal: %d rows, %v", len(rows), err)
	}
	if n, err := s.CollectPayloads(ctx); err != nil || n != 0 {
		t.Errorf("payloads left behind: %d, %v", n, err)
	}
	must("audit", s.Audit(ctx, domain.AuditRecord{Action: "login", Actor: "t"}))
	lastEvent, err := s.LastEvent(ctx)
	must("last event", err)
	_, err = s.AuditLink(ctx, lastEvent)
	must("a place in the chain", err)
	if behind, err := s.db.OlderThan(ctx, s.q, s.anchor.head()); err != nil || behind {
		t.Errorf("behind the anchor: %v, %v", behind, err)
	}
	report, err = s.VerifyAudit(ctx)
	if must("verify", err); len(report.Problems) > 0 {
		t.Errorf("audit of a purged run: %v", report.Problems)
	}
	_, err = s.q.AuditLinkBefore(ctx, 1<<62) // on opening
	must("last mac", err)
	_, _, err = s.CreateRun(ctx, domain.NewRun{Hash: v.Hash, Actor: "t", Origin: "api"})
	must("create", err)
	must("hold", s.hold(domain.Hold{Reason: domain.HoldRolledBack, Last: 1}))
	if ended, err := s.EndHold(ctx, domain.System, ""); err != nil || !ended {
		t.Errorf("end a hold: %v, %v", ended, err)
	}
	if _, err := s.Run(ctx, domain.NewID()); domain.CodeOf(err) != domain.CodeNotFound { // with and without details
		t.Errorf("a run there is not: %v", err)
	}
	checks, err := Diagnose(ctx, s)
	must("doctor", err)
	for _, c := range checks {
		if c.Name == "run states" { // no engine ended the child of the failed run
			if len(c.Problems) != 1 {
				t.Errorf("doctor: %s: %v", c.Name, c.Problems)
			}
		} else if len(c.Problems) > 0 && c.Name != "space" {
			t.Errorf("doctor: %s: %v", c.Name, c.Problems)
		}
	}
	if n, _, err := s.RunsCount(ctx, domain.RunFilter{Statuses: []domain.RunStatus{domain.RunCompleted}, Since: now}, 9); err != nil ||
		n != 0 {
		t.Errorf("completed since: %d, %v", n, err)
	}
	if n, err := s.CutAudit(ctx, s.now().Add(time.Hour), domain.System); err != nil || n == 0 {
		t.Errorf("cut the audit log: %d, %v", n, err)
	}
	if list, err := s.LiveChildren(ctx, domain.NewID()); err != nil || len(list) != 0 {
		t.Errorf("children of a run that is not there: %v, %v", list, err)
	}
	if _, err := s.TokenByID(ctx, domain.NewID()); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("a token that is not there: %v", err)
	}
	_, err = s.RecountRuns(ctx)
	must("count again", err)
	_, err = s.Kept(ctx, parent.ID)
	must("digests", err)
	_, err = s.RunningPrograms(ctx, 10)
	must("programs of active runs", err)
	_, err = s.q.RowCounts(ctx) // for backups
	must("count rows", err)
	must(
		"keep a setting",
		s.writer.perform(func(w *writer) ([]auditRow, error) { return nil, w.q.SettingKeep(w.ctx, "epoch", "0") }),
	) // for migrations
	everyUserQuery(t, s, must)
	everyDeliveryQuery(t, s, must)
	everyToolQuery(t, s, must)
	everyPositionQuery(t, s, must)
	everyScheduleQuery(t, s, putVersion(t, s, "timed", "timed"), must)
	everyHookQuery(t, s, putVersion(t, s, "hooked", "hooked"), must)
	everySignalQuery(t, s, putVersion(t, s, "signaled", "signaled"), must)
	everyBudgetQuery(t, s, putVersion(t, s, "budgeted", "budgeted"), must)
	must("remove access", s.writer.perform(func(w *writer) ([]auditRow, error) {
		return nil, errors.Join(w.q.TokenDelete(w.ctx, "none"), w.q.ApprovalClose(w.ctx, dbsqlc.ApprovalCloseParams{PublicID: "none"}))
	}))
	must("reset access", s.resetAccess())

	files, err := filepath.Glob("../../db/queries/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no query files: %v", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		must("read", err)
		for _, m := range queryName.FindAllStringSubmatch(string(text), -1) {
			// EachRow executes the second line without the recorder; doctor ran it above.
			byHand := slices.Contains([]string{"StepInsert", "StepInsertPlain", "AuditInsert", "AuditInsertCheckpoint",
				"CheckRuns", "CheckJournalRuns", "CheckSteps", "CheckStepsOfRun", "CheckApprovals", "CheckApprovalSteps", "CheckMemory",
				"CheckAuditEvents", "CheckStepHashes", "CheckSeals", "CheckLeftApprovals", "CheckLeftChildren", "CheckLeftPaused"}, m[1])
			if !rec.seen[m[1]] && !byHand {
				t.Errorf("%s: no test runs %s", filepath.Base(f), m[1])
			}
		}
	}
}
