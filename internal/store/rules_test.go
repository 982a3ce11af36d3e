package store_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// rule is one case: the actions and the expected messages.
type rule struct {
	name string
	do   func(c *caller)
	want string
}

func text(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }

func ptr[T any](v T) *T { return &v }

var noon = time.Date(2030, 1, 31, 12, 0, 0, 123456000, time.UTC)

// moves contains a rule for every pair of statuses, from the table of allowed status changes.
func moves() (out []rule) {
	reason := func(s domain.RunStatus) domain.WaitReason {
		if s == domain.RunWaiting {
			return domain.WaitTimer
		}
		return ""
	}
	for _, from := range domain.RunStatuses {
		for _, to := range domain.RunStatuses {
			want := "ok"
			if !domain.CanMove(from, to) {
				want = "conflict"
			}
			do := func(c *caller) {
				r := c.begin()
				if from != domain.RunQueued {
					c.move(r, 0, from, reason(from))
					c.messages = nil
				}
				c.move(r, 0, to, reason(to))
			}
			out = append(out, rule{fmt.Sprintf("move from %s to %s", from, to), do, want})
		}
	}
	return out
}

var rules = append([]rule{
	// Plans.
	{"plan: known content is the version that is there", func(c *caller) { c.put(newVersion("p", "h1")) }, "p@1 created false"},
	{"plan: known content under another key", func(c *caller) { c.put(newVersion("q", "h1")); c.plan("q") }, "p@1 created false|not_found"},
	{
		"plan: new content is the next version",
		func(c *caller) { c.put(newVersion("p", "h2")); c.plan("p") },
		`p@2 created true|p "name of h2" latest 2 h2 archived false`,
	},
	{"plan: versions count for each plan", func(c *caller) { c.put(newVersion("q", "h2")); c.put(newVersion("q", "h3")); c.plan("p") },
		`q@1 created true|q@2 created true|p "name of h1" latest 1 h1 archived false`},
	{"plan: made from the newest", func(c *caller) { v := newVersion("p", "h2"); v.Base = "h1"; c.put(v) }, "p@2 created true"},
	{"plan: made from one that is not the newest any more", func(c *caller) {
		c.put(newVersion("p", "h2"))
		v := newVersion("p", "h3")
		v.Base = "h1"
		c.put(v)
		c.plan("p")
	}, `p@2 created true|stale|p "name of h2" latest 2 h2 archived false`},
	{"plan: a version made for one run leads nobody else", func(c *caller) {
		v := newVersion("p", "h2")
		v.Origin = "replan"
		c.put(v)
		c.plan("p")
		c.put(newVersion("p", "h3"))
	}, `p@2 created true|p "name of h1" latest 1 h1 archived false|p@3 created true`},
	{"plan: by its id", func(c *caller) { c.plan(c.v.PlanID) }, `p "name of h1" latest 1 h1 archived false`},
	{"plan: unknown", func(c *caller) { c.plan("nothing") }, "not_found"},
	{"plan: an archived one is versioned and run", func(c *caller) {
		c.archive(c.v.PlanID)
		c.put(newVersion("p", "h2"))
		c.run(c.begin())
	}, "p@2 created true|r1 p@1 queued seq 0 steps 0"},
	{"plan: an earlier version is restored", func(c *caller) {
		c.put(newVersion("p", "h2"))
		restore := func(hash, base string) {
			_, err := c.s.RestoreVersion(
				context.Background(),
				domain.RestoredVersion{PlanID: c.v.PlanID, Hash: hash, Base: base, Name: "again", Reason: "why"},
				someone,
			)
			c.note("%s", word(err))
		}
		restore("h1", "h1")
		restore("h9", "")
		restore("h1", "h2")
		c.plan("p")
		c.put(newVersion("p", "h3"))
	}, `p@2 created true|stale|not_found|ok|p "again" latest 1 h1 archived false|p@3 created true`},
	{"plan: a draft is accepted, once", func(c *caller) {
		draft := newVersion("d", "h5")
		draft.Origin = "planner"
		p, _, _, _ := c.s.PutVersion(context.Background(), draft, someone)
		for range 2 {
			got, err := c.s.AcceptPlan(context.Background(), p.ID, someone, "why")
			c.note("%q before, %q after, %s", p.Stage, got.Stage, word(err))
		}
		_, err := c.s.AcceptPlan(context.Background(), "x", someone, "")
		c.note("%s", word(err))
	}, `"draft" before, "" after, ok|"draft" before, "" after, ok|not_found`},
	{"version: by hash and by number", func(c *caller) {
		a, err := c.s.VersionByHash(context.Background(), "h1")
		b, err2 := c.s.VersionByNumber(context.Background(), c.v.PlanID, 1)
		c.note("%s %s %s %s", a.Source, word(err), b.Source, word(err2))
	}, "source of h1 ok source of h1 ok"},
	{"version: unknown hash, unknown number", func(c *caller) {
		_, err := c.s.VersionByHash(context.Background(), "h9")
		_, err2 := c.s.VersionByNumber(context.Background(), c.v.PlanID, 9)
		c.note("%s %s", word(err), word(err2))
	}, "not_found not_found"},

	// Creating runs.
	{"create: queued, with nothing in it", func(c *caller) { r := c.begin(); c.run(r); c.journal(r, 0) }, "r1 p@1 queued seq 0 steps 0|[]"},
	{"create: of a version that is not there", func(c *caller) { c.create(domain.NewRun{Hash: "h9"}); c.unfinished() }, "not_found|"},
	{"create: an older version stays what it is", func(c *caller) {
		r := c.begin()
		c.put(newVersion("p", "h2"))
		c.run(r)
	}, "p@2 created true|r1 p@1 queued seq 0 steps 0"},
	{"create: one run per key", func(c *caller) {
		c.create(domain.NewRun{Key: "k"})
		c.create(domain.NewRun{Key: "k", Input: domain.RawJSON("2")})
		c.create(domain.NewRun{Key: "l"})
		c.unfinished()
	}, "r1 is there|r1 r2"},
	{"create: one run per id", func(c *caller) {
		id := domain.NewID()
		c.create(domain.NewRun{ID: id, Input: domain.RawJSON("1")})
		c.create(domain.NewRun{ID: id, Input: domain.RawJSON("2")})
		c.run(id)
	}, `r1 is there|r1 p@1 queued seq 0 steps 0 input "1"`},
	{"create: all that it may have", func(c *caller) {
		c.run(c.create(domain.NewRun{Priority: 7, Labels: map[string]string{"a": "b", "c": ""}, Session: "s", StartAt: noon, Key: "k",
			Limits: domain.Limits{
				MaxSteps:    5,
				MaxDuration: time.Hour,
				MaxTokens:   3,
				MaxCost:     0.5,
			}, Concurrency: &domain.Concurrency{Key: "one", Limit: 2, OnConflict: "queue"}}))
	}, "r1 p@1 queued seq 0 steps 0 priority 7 key k labels map[a:b c:] limits {5 1h0m0s 3 0.5 false} starts " +
		"2030-01-31T12:00:00.123456Z session s concurrency {one 2 queue}"},
	{"create: a child", func(c *caller) {
		p := c.begin()
		c.run(
			c.create(
				domain.NewRun{
					Parent: &domain.ParentRef{Run: "elsewhere", Node: "n", Visit: 2, Item: 3, Attempt: 4},
					Origin: "child",
					Actor:  "marta",
				},
			),
		)
		c.run(p)
	}, "r2 p@1 queued seq 0 steps 0 child of  {elsewhere n 2 3 4}|r1 p@1 queued seq 0 steps 0"},
	{"create: a held fork with what it keeps", func(c *caller) {
		r := c.create(
			domain.NewRun{
				Status:  domain.RunWaiting,
				Lineage: domain.Lineage{ForkedFrom: "other", ForkSeq: 3},
				Entries: []domain.Entry{entry("a", "1"), entry("b", "2")},
				Audit:   []domain.AuditRecord{{Action: "run.created", Actor: "marta"}, {Action: "run.fork", Actor: "marta"}},
			},
		)
		c.run(r)
		c.journal(r, 0)
		c.events(1, r, 10)
	}, `r1 p@1 waiting:held seq 2 steps 2 path cc fork of other@3|[1:a="1" 2:b="2"]|2 run.created r1 1-2 by marta ok ; 3 ` +
		`run.fork r1 by marta ok `},
	{"create: a rerun", func(c *caller) { c.run(c.create(domain.NewRun{Lineage: domain.Lineage{RerunOf: "other"}})) },
		"r1 p@1 queued seq 0 steps 0 rerun of other"},
	{
		"create: an input that is not UTF-8",
		func(c *caller) { c.create(domain.NewRun{Input: domain.RawJSON("\"\xff\"")}); c.unfinished() },
		"invalid|",
	},
	{"create: rows that are not UTF-8", func(c *caller) {
		c.create(domain.NewRun{Entries: []domain.Entry{entry("a", "1"), entry("a", "\"\xff\"")}})
		c.unfinished()
	}, "invalid|"},
	{"create: large inputs come back", func(c *caller) {
		for _, n := range []int{4095, 4096, 4097, 300 << 10} {
			c.run(c.create(domain.NewRun{Input: domain.RawJSON(text(n))}))
		}
	}, `r1 p@1 queued seq 0 steps 0 input "xxx…xxx"(4095)|r2 p@1 queued seq 0 steps 0 input "xxx…xxx"(4096)|` +
		`r3 p@1 queued seq 0 steps 0 input "xxx…xxx"(4097)|r4 p@1 queued seq 0 steps 0 input "xxx…xxx"(307200)`},
	{"run: unknown", func(c *caller) { c.run("nothing"); c.run(domain.NewID()) }, "not_found|not_found"},
	{"journal: of a run that is not there", func(c *caller) { c.journal("nothing", 0) }, "[]"},

	// Checkpoints.
	{
		"commit: one row",
		func(c *caller) { r := c.begin(); c.at(r, 0, "1", nil); c.run(r); c.journal(r, 0) },
		`ok|r1 p@1 queued seq 1 steps 0|[1:a="1"]`,
	},
	{"commit: many rows at once", func(c *caller) {
		r := c.begin()
		c.commit(domain.Checkpoint{Run: r, Entries: []domain.Entry{entry("a", "1"), entry("b", "2"), entry("c", "3")}})
		c.journal(r, 1)
	}, `ok|[2:b="2" 3:c="3"]`},
	{"commit: a run that is not there", func(c *caller) { c.at(domain.NewID(), 0, "1", nil) }, "not_found"},
	{
		"commit: behind",
		func(c *caller) { r := c.begin(); c.at(r, 0, "1", nil); c.at(r, 0, "2", nil); c.journal(r, 0) },
		`ok|conflict|[1:a="1"]`,
	},
	{"commit: ahead", func(c *caller) { r := c.begin(); c.at(r, 1, "1", nil); c.journal(r, 0) }, "conflict|[]"},
	{"commit: negative", func(c *caller) { r := c.begin(); c.at(r, -1, "1", nil); c.journal(r, 0) }, "conflict|[]"},
	{"commit: far ahead", func(c *caller) { r := c.begin(); c.at(r, math.MaxInt64-8, "1", nil); c.journal(r, 0) }, "conflict|[]"},
	{"commit: a row numbered otherwise", func(c *caller) {
		r := c.begin()
		e := entry("a", "1")
		e.Seq = 5
		c.commit(domain.Checkpoint{Run: r, Entries: []domain.Entry{e}})
		c.journal(r, 0)
	}, "internal|[]"},
	{"commit: rows numbered as they are", func(c *caller) {
		r := c.begin()
		e := entry("a", "1")
		e.Seq = 1
		c.commit(domain.Checkpoint{Run: r, Entries: []domain.Entry{e}})
	}, "ok"},
	{"commit: a loser without rows", func(c *caller) {
		r := c.begin()
		c.at(r, 0, "1", nil)
		c.commit(domain.Checkpoint{Run: r, Fence: 0, Patch: &domain.RunPatch{AddSteps: 3}})
		c.move(r, 0, domain.RunCancelled, "")
		c.run(r)
	}, "ok|conflict|conflict|r1 p@1 queued seq 1 steps 0"},
	{
		"commit: nothing at all",
		func(c *caller) { r := c.begin(); c.commit(domain.Checkpoint{Run: r}); c.run(r); c.events(1, r, 9) },
		"ok|r1 p@1 queued seq 0 steps 0|",
	},
	{"commit: refused wholly for its last row", func(c *caller) {
		r := c.begin()
		c.commit(
			domain.Checkpoint{
				Run:     r,
				Patch:   &domain.RunPatch{Status: domain.RunRunning, AddSteps: 1},
				Audit:   []domain.AuditRecord{{Action: "x"}},
				Entries: []domain.Entry{entry("a", "1"), entry("b", "\"\xfe\"")},
			},
		)
		c.run(r)
		c.journal(r, 0)
		c.events(1, r, 9)
	}, "invalid|r1 p@1 queued seq 0 steps 0|[]|"},
	{"commit: refused wholly for its status", func(c *caller) {
		r := c.begin()
		c.move(r, 0, domain.RunCompleted, "")
		c.at(r, 0, "1", &domain.RunPatch{Status: domain.RunRunning, AddSteps: 1})
		c.run(r)
		c.journal(r, 0)
	}, "ok|conflict|r1 p@1 completed seq 0 steps 0|[]"},
	{"commit: refused wholly for its version", func(c *caller) {
		r := c.begin()
		c.at(r, 0, "1", &domain.RunPatch{Hash: "h9", AddSteps: 1})
		c.run(r)
	}, "not_found|r1 p@1 queued seq 0 steps 0"},
	{
		"commit: waiting for nothing",
		func(c *caller) { r := c.begin(); c.move(r, 0, domain.RunWaiting, ""); c.run(r) },
		"conflict|r1 p@1 queued seq 0 steps 0",
	},
	{"commit: a reason without waiting", func(c *caller) { r := c.begin(); c.move(r, 0, domain.RunRunning, domain.WaitTimer); c.run(r) },
		"conflict|r1 p@1 queued seq 0 steps 0"},
	{"commit: from one reason to another", func(c *caller) {
		r := c.begin()
		c.move(r, 0, domain.RunWaiting, domain.WaitTimer)
		c.move(r, 0, domain.RunWaiting, domain.WaitApproval)
		c.run(r)
	}, "ok|ok|r1 p@1 waiting:approval seq 0 steps 0"},
	{"commit: rows after the end", func(c *caller) {
		r := c.begin()
		c.at(r, 0, "1", &domain.RunPatch{Status: domain.RunCompleted, Output: domain.RawJSON("1")})
		c.at(r, 1, "2", nil)
		c.run(r)
		c.journal(r, 0)
	}, `ok|ok|r1 p@1 completed seq 2 steps 0 output "1"|[1:a="1" 2:a="2"]`},
	{"commit: resumed after a failure", func(c *caller) {
		r := c.begin()
		c.at(
			r,
			0,
			"1",
			&domain.RunPatch{
				Status:   domain.RunFailed,
				Error:    &domain.RunError{Code: "x", Message: "m", Node: "a"},
				Headline: ptr("a: m"),
				Node:     ptr("a"),
			},
		)
		c.run(r)
		c.unfinished()
		c.at(r, 1, "2", &domain.RunPatch{Status: domain.RunRunning, ClearError: true, Headline: ptr(""), Node: ptr("")})
		c.run(r)
		c.unfinished()
	}, `ok|r1 p@1 failed seq 1 steps 0 error &{x m a} "a: m" at a||ok|r1 p@1 running seq 2 steps 0|r1`},
	{"commit: what a patch may change", func(c *caller) {
		r := c.begin()
		c.at(
			r,
			0,
			"1",
			&domain.RunPatch{
				Headline: ptr("h"),
				Node:     ptr("n"),
				DueAt:    &noon,
				AddSteps: 2,
				AddPath:  "cf",
				Crashes:  ptr(1),
				Paused:   ptr(true),
				AddUsage: domain.Usage{
					InputTokens:  1,
					OutputTokens: 2,
					Cost:         0.25,
				},
				Limits:      &domain.Limits{MaxSteps: 9},
				StartedAt:   &noon,
				RunningTime: ptr(time.Minute),
				Hash:        "",
			},
		)
		c.run(r)
		c.at(
			r,
			1,
			"1",
			&domain.RunPatch{
				DueAt:    ptr(time.Time{}),
				AddSteps: 1,
				AddPath:  "s",
				Paused:   ptr(false),
				AddUsage: domain.Usage{InputTokens: 1},
				Crashes:  ptr(0),
				Headline: ptr(""),
			},
		)
		c.run(r)
	}, `ok|r1 p@1 queued seq 1 steps 2 "h" at n path cf limits {9 0s 0 0 false} usage {1 2 0.25 false} crashes 1 paused ` +
		`true due 2030-01-31T12:00:00.123456Z started 2030-01-31T12:00:00.123456Z took 1m0s|` +
		`ok|r1 p@1 queued seq 2 steps 3 at n path cfs limits {9 0s 0 0 false} usage {2 2 0.25 false} started ` +
		`2030-01-31T12:00:00.123456Z took 1m0s`},
	{"commit: a path is bounded", func(c *caller) {
		r := c.begin()
		c.at(r, 0, "1", &domain.RunPatch{AddPath: strings.Repeat("c", 60)})
		c.at(r, 1, "1", &domain.RunPatch{AddPath: strings.Repeat("f", 60)})
		c.run(r)
		c.at(r, 2, "1", &domain.RunPatch{Path: ptr("xy")})
		c.run(r)
	}, "ok|ok|r1 p@1 queued seq 2 steps 0 path " + strings.Repeat("c", 60) + "ffff|ok|r1 p@1 queued seq 3 steps 0 path xy"},
	{"commit: another version", func(c *caller) {
		r := c.begin()
		c.put(newVersion("p", "h2"))
		c.at(r, 0, "1", &domain.RunPatch{Hash: "h2"})
		c.run(r)
	}, "p@2 created true|ok|r1 p@2 queued seq 1 steps 0"},
	{"commit: deleted and still there", func(c *caller) {
		r := c.begin()
		c.move(r, 0, domain.RunCancelled, "")
		c.commit(domain.Checkpoint{Run: r, Patch: &domain.RunPatch{DeletedAt: &noon}})
		c.run(r)
		c.journal(r, 0)
	}, "ok|ok|r1 p@1 cancelled seq 0 steps 0 deleted true|[]"},
	{"commit: two runs do not know of each other", func(c *caller) {
		a, b := c.begin(), c.begin()
		c.at(a, 0, "1", nil)
		c.at(b, 0, "2", nil)
		c.at(a, 1, "3", nil)
		c.journal(a, 0)
		c.journal(b, 0)
	}, `ok|ok|ok|[1:a="1" 2:a="3"]|[1:a="2"]`},
	{"commit: whatever the caller does with its context", func(c *caller) {
		r := c.begin()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := c.s.Commit(ctx, domain.Checkpoint{Run: r, Entries: []domain.Entry{entry("a", "1")}}); err != nil {
			c.at(r, 0, "1", nil)
		}
		c.journal(r, 0)
	}, `[1:a="1"]`},
}, append(valueRules, moves()...)...)
