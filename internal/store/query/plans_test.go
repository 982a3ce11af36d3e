package query_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/query"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// A list reads at most as many rows as it shows, because every arm reads an index in the order of
// the list.
func TestEveryListReadsAnIndexInOrder(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	storetest.Plan(t, s, "id: p\nnodes:\n  a: {type: noop}\n")
	for name, f := range runFilters() {
		for _, order := range []string{"ASC", "DESC"} {
			for _, statement := range []func(context.Context, domain.RunFilter, string) (string, []any, error){s.RunStatement, s.RunKeys} {
				text, args, err := statement(t.Context(), f, order)
				if err != nil {
					t.Fatal(err)
				}
				explain(t, s, name+" "+order, text, args)
			}
		}
	}
	// These queries read whole tables on purpose: the tables are small, or the sums are made in the
	// background.
	whole := []string{
		"UserList",
		"TokenList",
		"UserSeals",
		"TokenSeals",
		"SecondFactors",
		"CircuitList",
		"SessionsAll",
		"UserCount",
		"RunCountList",
		"RunCountsText",
		"RunCountsCheck",
		"PlanNames",
		"RunTotals",
		"PayloadTotals",
		"PayloadBytes",
		"StepsWithoutAudit", // the newest 100,000 rows, for a check
		"SpendList",         // a range of the index, summed
		"SpendLabelList",    // as SpendList
		"FailureGroups",     // it sorts groups, of which there are few
		"PlannedRuns",       // the versions of all plans, for metrics
		"PlansWithText",     // the newest versions of all plans
		"VersionsUnderWay",  // the active runs
		"RunningPrograms",   // the programs of running runs, of which there are few
		"ScheduleAll",       // the active schedules, at a start
		"OutcomeList",
		"BudgetCount", "BudgetCallsInFlight", "BudgetHoldList", // few budgets, and the calls in flight, at a start
		"SpendSeed", "SpendLabelSeed", // as SpendList
		"SignalNamesMatchable", // the waits for signals, at a start
	} // a range of the index for each plan
	for _, q := range named(t, func(file string) bool { return file != "checks.sql" }) { // queries that read everything on purpose
		if strings.HasPrefix(q[1], "SELECT") && !slices.Contains(whole, q[0]) {
			explain(t, s, q[0], q[1], nil)
		}
	}
	for _, f := range handoffFilters {
		text, args := query.HandoffStatement(f)
		explain(t, s, "handoffs", text, args)
		text, args = query.HandoffKeys(f)
		explain(t, s, "keys of handoffs", text, args)
	}
	explain(t, s, "handoff", query.OneHandoffSQL, []any{"h"})
	explain(t, s, "handoffs like another", query.LikeHandoffsSQL, []any{"h", "i", 8})
	for _, f := range approvalFilters {
		for _, newer := range []bool{false, true} {
			text, args := query.ApprovalStatement(f, newer)
			explain(t, s, "approvals", text, args)
		}
		text, args := query.ApprovalKeys(f)
		explain(t, s, "keys of approvals", text, args)
	}
	for _, f := range auditFilters {
		text, args := query.AuditStatement(f)
		explain(t, s, "audit", text, args)
		text, args = query.AuditKeys(f)
		explain(t, s, "keys of audit events", text, args)
	}
	for _, f := range stepFilters {
		statements, err := s.StepStatements(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range statements {
			explain(t, s, "steps", statement.Text, statement.Args)
		}
	}
}

// Every index costs time with every row that is written. Each index serves a query that the
// migration names next to it.
func TestEveryIndexServesAQuery(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	storetest.Plan(t, s, "id: p\nnodes:\n  a: {type: noop}\n")
	serves := map[string]map[string]bool{} // index, query
	look := func(name, text string, args ...any) {
		for _, step := range planOf(t, s, text, args) {
			if m := indexName.FindStringSubmatch(step); m != nil {
				if serves[m[1]] == nil {
					serves[m[1]] = map[string]bool{}
				}
				serves[m[1]][name] = true
			}
		}
	}
	for _, q := range named(t, func(string) bool { return true }) {
		look(q[0], q[1])
	}
	for _, f := range runFilters() {
		text, args, err := s.RunStatement(t.Context(), f, "DESC")
		if err != nil {
			t.Fatal(err)
		}
		look("Runs", text, args...)
	}
	text, args, err := s.UnlistedStatement(t.Context(), domain.RunFilter{})
	if err != nil {
		t.Fatal(err)
	}
	look("RunsCount", text, args...)
	for _, f := range handoffFilters {
		text, args := query.HandoffStatement(f)
		look("HandoffsOf", text, args...)
	}
	look("Handoff", query.OneHandoffSQL, "h")
	for _, f := range approvalFilters {
		text, args := query.ApprovalStatement(f, false)
		look("Approvals", text, args...)
	}
	for _, f := range auditFilters {
		text, args := query.AuditStatement(f)
		look("AuditEvents", text, args...)
	}
	for _, f := range stepFilters {
		statements, err := s.StepStatements(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range statements {
			look("Steps", statement.Text, statement.Args...)
		}
	}
	migration, err := os.ReadFile("../../../db/migrations/00001_create_store.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range indexLine.FindAllStringSubmatch(string(migration), -1) {
		comment, unique, index := m[1], m[2] != "", m[3]
		if unique {
			continue // it enforces a constraint
		}
		names := servesNames.FindStringSubmatch(comment)
		if names == nil {
			t.Errorf("no comment says what %s serves; it serves %v", index, slices.Sorted(maps.Keys(serves[index])))
			continue
		}
		for _, name := range strings.Split(names[1], ", ") {
			if !serves[index][name] {
				t.Errorf("%s does not serve %s; it serves %v", index, name, slices.Sorted(maps.Keys(serves[index])))
			}
		}
	}
}

var (
	indexName   = regexp.MustCompile(`USING (?:COVERING )?INDEX (\w+)`)
	indexLine   = regexp.MustCompile(`(?m)((?:^--.*\n)*)^CREATE (UNIQUE )?INDEX (\w+)`)
	servesNames = regexp.MustCompile(`-- Serves ([\w, ]+)\.`)
)

var queryName = regexp.MustCompile(`(?m)^-- name: (\w+) :`)

// named returns the name and text of every query in these files, in SQLite syntax.
func named(t *testing.T, kept func(file string) bool) (out [][2]string) {
	t.Helper()
	files, err := filepath.Glob("../../../db/queries/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no query files: %v", err)
	}
	for _, f := range files {
		if !kept(filepath.Base(f)) {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		at := queryName.FindAllStringSubmatchIndex(text, -1)
		for i, m := range at {
			end := len(text)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			_, body, _ := strings.Cut(text[m[0]:end], "\n")
			body, _, _ = strings.Cut(body, ";")
			body = regexp.MustCompile(`sqlc\.embed\((\w+)\)`).ReplaceAllString(body, "$1.*")
			out = append(out, [2]string{text[m[2]:m[3]], regexp.MustCompile(`@\w+`).ReplaceAllString(body, "'x'")})
		}
	}
	return out
}

func explain(t *testing.T, s *store.Store, name, text string, args []any) {
	t.Helper()
	for _, detail := range planOf(t, s, text, args) {
		if strings.Contains(detail, "TEMP B-TREE") ||
			strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "USING INDEX") && !strings.Contains(detail, "subquery") &&
				!strings.Contains(detail, "VIRTUAL TABLE") {
			t.Errorf("%s: %s\n%s", name, detail, text)
		}
	}
}

// planOf returns SQLite's query plan of a statement.
func planOf(t *testing.T, s *store.Store, text string, args []any) (out []string) {
	t.Helper()
	rows, err := s.Core().Read.Query("EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	defer rows.Close()
	for rows.Next() {
		var id, up, unused int
		var detail string
		if err := rows.Scan(&id, &up, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		out = append(out, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func runFilters() map[string]domain.RunFilter {
	two := []domain.RunStatus{domain.RunFailed, domain.RunCompleted}
	return map[string]domain.RunFilter{
		"all": {}, "status": {Statuses: two[:1]}, "statuses": {Statuses: two}, "plan": {PlanKey: "p"},
		"plan, statuses": {PlanKey: "p", Statuses: two}, "schedule": {RunCause: domain.RunCause{Schedule: "s"}},
		"profile":   {RunCause: domain.RunCause{Profile: "prod"}},
		"profiles":  {RunCause: domain.RunCause{Profiles: []string{"a", "b"}}, Exclude: domain.RunExclusion{Profiles: []string{"c"}}},
		"attention": {NeedsAttention: true}, "reason": {WaitReasons: []domain.WaitReason{domain.WaitApproval}},
		"reasons": {
			WaitReasons: []domain.WaitReason{domain.WaitInDoubt, domain.WaitPaused, domain.WaitBudget},
		}, "reason of a plan": {WaitReasons: []domain.WaitReason{domain.WaitApproval}, PlanKey: "p"}, "deleted": {Deleted: true},
		"actor": {
			Actor: "a",
		}, "actor, statuses": {Actor: "a", Statuses: two}, "error": {ErrorCode: "e"}, "node": {Node: "n"},
		"labels": {Labels: map[string]string{"a": "b", "c": "d"}}, "parent": {Parent: "x"}, "related": {RelatedTo: "x"},
		"text": {Text: "x", Statuses: two},
		"agent": {
			Agents: []string{"a"},
		}, "agents": {Agents: []string{"a", "b"}}, "tool of a plan": {Tools: []string{"t"}, PlanKey: "p", Statuses: two},
		"retried": {
			MinAttempts: 2,
		}, "crashed": {HasCrash: true}, "plans": {PlanKeys: []string{"p", "q"}},
		"plans, statuses": {PlanKeys: []string{"p", "q"}, Statuses: two}, "word": {Word: "p"},
		"failed alike": {PlanKey: "p", Node: "n", ErrorCode: "e", Fingerprint: "a", Statuses: two[:1], NeedsAttention: true},
		"words": {
			Text: "rate limit",
		}, "words of failed": {Text: "rate", Statuses: two[:1]}, "words of a plan": {Text: "rate", PlanKey: "p"},
		"words of all that need attention": {Text: "rate", NeedsAttention: true},
		"stubborn": {
			NeedsAttention: true,
			WaitReasons:    []domain.WaitReason{domain.WaitRetry},
		}, "silent": {NeedsAttention: true, Statuses: []domain.RunStatus{
			domain.RunRunning}}, // a bulk operation has at most 10,000 runs, which are sorted
		"plan and attention": {
			PlanKey:        "p",
			NeedsAttention: true,
		}, "everything": {PlanKey: "p", Version: 1, Statuses: two, Node: "n", Actor: "a", ErrorCode: "e",
			Labels: map[string]string{"a": "b"}, Since: time.Now(), Until: time.Now()},
	}
}

var handoffFilters = []domain.HandoffFilter{{}, {From: "a"}, {To: "b"}, {Status: "failed"}, {Plan: "p"}}

var approvalFilters = []domain.ApprovalFilter{
	{},
	{Plan: "p"},
	{Agent: "a"},
	{For: "ana"},
	{Assignee: "ana"},
	{NotFor: "ana"},
	{Overdue: time.Now()},
	{Status: "approved"},
	{Decided: true},
	{
		Decided: true,
		Plan:    "p",
	},
	{Decided: true, Plan: "p", Node: "n"},
	{Decided: true, Plan: "p", Node: "n", Tool: "http"},
	{Run: "r"},
	{Run: "r", Status: "pending"},
}

var auditFilters = []domain.AuditFilter{
	{},
	{Actor: "a"},
	{Action: "login"},
	{Action: "checkpoint"},
	{Action: "run.created"},
	{Actor: "a", Action: "login"},
	{
		Actor: "system",
	},
	{Actions: []string{"login", "run.cancel"}, Exclude: domain.AuditExclusion{Actors: []string{"a"}}, Since: time.Now()},
	{Object: "x", Since: time.Now(), Until: time.Now()},
	{Requests: []string{"r"}},
	{Addresses: []string{"a"}},
	{Result: "denied"},
	{
		Results: []string{"denied", "failed"},
		Actions: []string{"run.*"},
	},
	{Sources: []string{"api"}, Exclude: domain.AuditExclusion{Actors: []string{"system"}}},
}

var stepFilters = []domain.StepFilter{
	{},
	{PlanKey: "p", Version: 1},
	{Nodes: []string{"a"}},
	{Statuses: []domain.NodeStatus{domain.NodeFailed}},
	{ErrorCodes: []string{"x"}, PlanKey: "p"},
}
