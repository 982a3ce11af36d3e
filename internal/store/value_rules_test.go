package store_test

import (
	"context"
	"fmt"
	"math"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// valueRules are the rules about chains, values, audit events, approvals, and the engine's queries
// at startup.
var valueRules = []rule{
	// Chains.
	{"chain: a refused link voids the later ones", func(c *caller) {
		r, chain := c.begin(), new(domain.Chain)
		link := func(fence int64) {
			c.commit(domain.Checkpoint{Run: r, Chain: chain, Fence: fence, Entries: []domain.Entry{entry("a", "1")}})
		}
		link(0)
		link(7)
		link(1)
		c.at(r, 1, "2", nil) // without a chain
		c.journal(r, 0)
	}, `ok|conflict|conflict|ok|[1:a="1" 2:a="2"]`},
	{"chain: enqueued checkpoints keep their order", func(c *caller) {
		r := c.begin()
		done := make(chan error, 3)
		for i := range int64(3) {
			c.s.Enqueue(
				[]domain.Checkpoint{{Run: r, Fence: i, Entries: []domain.Entry{entry("a", fmt.Sprint(i))}}},
				func(err error) { done <- err },
			)
		}
		for range 3 {
			if err := <-done; err != nil {
				c.note("%s", word(err))
			}
		}
		c.journal(r, 0)
	}, `[1:a="0" 2:a="1" 3:a="2"]`},
	{"chain: a list is stored, and answered, in its order", func(c *caller) {
		r, chain, done := c.begin(), new(domain.Chain), make(chan error, 4)
		var list []domain.Checkpoint
		for _, fence := range []int64{0, 1, 5, 2} {
			list = append(
				list,
				domain.Checkpoint{Run: r, Chain: chain, Fence: fence, Entries: []domain.Entry{entry("a", fmt.Sprint(fence))}},
			)
		}
		c.s.Enqueue(list, func(err error) { done <- err })
		for range list {
			c.note("%s", word(<-done))
		}
		c.journal(r, 0)
	}, `ok|ok|conflict|conflict|[1:a="0" 2:a="1"]`},
	{"chain: an enqueued one that is refused says so", func(c *caller) {
		done := make(chan error, 1)
		c.s.Enqueue([]domain.Checkpoint{{Run: c.begin(), Fence: 3}}, func(err error) { done <- err })
		c.note("%s", word(<-done))
	}, "conflict"},

	// Values.
	{"value: none, and the smallest", func(c *caller) {
		r := c.begin()
		e := entry("a", "")
		e.Output = nil
		c.commit(domain.Checkpoint{Run: r, Entries: []domain.Entry{e, entry("b", "0"), entry("c", `""`), entry("d", "null")}})
		c.journal(r, 0)
	}, `ok|[1:a=- 2:b="0" 3:c="\"\"" 4:d="null"]`},
	{"value: of every class of size", func(c *caller) {
		r := c.begin()
		for i, n := range []int{2, 4096, 4097, 256 << 10, 256<<10 + 1, 1 << 20} {
			c.at(r, int64(i), text(n), nil)
		}
		c.journal(r, 0)
	}, `ok|ok|ok|ok|ok|ok|[1:a="\"\"" 2:a="xxx…xxx"(4096) 3:a="xxx…xxx"(4097) 4:a="xxx…xxx"(262144) ` +
		`5:a="xxx…xxx"(262145) 6:a="xxx…xxx"(1048576)]`},
	{
		"value: the largest",
		func(c *caller) { r := c.begin(); c.at(r, 0, text(core.MaxPayload), nil); c.journal(r, 0) },
		`ok|[1:a="xxx…xxx"(33554432)]`,
	},
	{"value: larger than the largest", func(c *caller) {
		r := c.begin()
		c.at(r, 0, text(core.MaxPayload+1), nil)
		c.at(r, 0, "1", &domain.RunPatch{Output: domain.RawJSON(text(core.MaxPayload + 1))})
		c.run(r)
	}, "too_large|too_large|r1 p@1 queued seq 0 steps 0"},
	{"value: the same large one in two runs", func(c *caller) {
		for range 2 {
			r := c.begin()
			c.at(r, 0, text(5000), &domain.RunPatch{Status: domain.RunCompleted, Output: domain.RawJSON(text(5000))})
			c.run(r)
		}
	}, `ok|r1 p@1 completed seq 1 steps 0 output "xxx…xxx"(5000)|ok|r2 p@1 completed seq 1 steps 0 output "xxx…xxx"(5000)`},
	{"value: numbers stay as they were written", func(c *caller) {
		r := c.begin()
		for i, v := range []string{"1.50", "1e3", "-0", "9223372036854775807", "123456789012345678901234567890"} {
			c.at(r, int64(i), v, nil)
		}
		c.journal(r, 0)
	}, `ok|ok|ok|ok|ok|[1:a="1.50" 2:a="1e3" 3:a="-0" 4:a="9223372036854775807" 5:a="123456789012345678901234567890"]`},
	{"value: text of every kind", func(c *caller) {
		r := c.begin()
		for i, v := range []string{`"\u0000"`, `"ñ 日本 🎈"`, `"@0123"`, `"'; DROP TABLE runs; --"`, "\"\u202e\""} {
			c.at(r, int64(i), v, nil)
		}
		c.journal(r, 0)
	}, "ok|ok|ok|ok|ok|[1:a=\"\\\"\\\\u0000\\\"\" 2:a=\"\\\"ñ 日本 🎈\\\"\" 3:a=\"\\\"@0123\\\"\" 4:a=\"\\\"'; DROP " +
		"TABLE runs; --\\\"\" 5:a=\"\\\"\\u202e\\\"\"]"},
	{"value: the extremes of a row's numbers", func(c *caller) {
		r := c.begin()
		e := entry("a", "1")
		e.Visit, e.Item, e.Attempt, e.Substep = math.MaxInt32, math.MaxInt32, math.MaxInt32, math.MaxInt32
		e.Usage = domain.Usage{InputTokens: math.MaxInt64, OutputTokens: 1, Cost: math.MaxFloat64}
		e.At, e.StartedAt = noon, noon
		c.commit(domain.Checkpoint{Run: r, Entries: []domain.Entry{e}})
		c.rowsWhole(r)
	}, `ok|{"seq":1,"kind":"result","node":"a","visit":2147483647,"item":2147483647,"attempt":2147483647,` +
		`"substep":2147483647,"status":"completed","final":true,` +
		`"effect":"pure","output":1,"usage":{"inputTokens":9223372036854775807,"outputTokens":1,"cost":1.7976931348623157e+308},` +
		`"startedAt":"2030-01-31T12:00:00.123456Z","at":"2030-01-31T12:00:00.123456Z"}`},
	{"value: every field of a row", func(c *caller) {
		r := c.begin()
		c.commit(
			domain.Checkpoint{
				Run: r,
				Entries: []domain.Entry{
					{Kind: domain.EntryWait, Node: "n", Visit: 2, Item: 3, Attempt: 4, Substep: 5, Status: domain.NodeWaiting,
						Effect: "unsafe", IdempotencyKey: "k", Input: domain.RawJSON("1"), Output: domain.RawJSON("2"),
						Decision: domain.RawJSON(`{"a":1}`), Log: domain.RawJSON("[]"),
						Failure: &domain.Failure{
							Code:      "c",
							Message:   "m",
							Permanent: true,
						}, Usage: domain.Usage{InputTokens: 1}, Agent: "g", DueAt: noon, Ref: "f", Actor: "w", Reason: "y",
						StartedAt: noon, At: noon},
				},
			},
		)
		c.rowsWhole(r)
	}, `ok|{"seq":1,"kind":"wait","node":"n","visit":2,"item":3,"attempt":4,"substep":5,"status":"waiting",` +
		`"effect":"unsafe","idempotencyKey":"k","input":1,"output":2,` +
		`"decision":{"a":1},"failure":{"code":"c","message":"m","permanent":true},"usage":{"inputTokens":1,"outputTokens":0,` +
		`"cost":0},"agent":"g",` +
		`"dueAt":"2030-01-31T12:00:00.123456Z","ref":"f","actor":"w","reason":"y","log":[],` +
		`"startedAt":"2030-01-31T12:00:00.123456Z","at":"2030-01-31T12:00:00.123456Z"}`},

	// Audit.
	{"audit: one event for each checkpoint, gapless, in the order of commits", func(c *caller) {
		a, b := c.begin(), c.begin()
		c.at(a, 0, "1", &domain.RunPatch{Status: domain.RunRunning})
		c.at(b, 0, "2", nil)
		c.move(a, 1, domain.RunWaiting, domain.WaitTimer)
		c.messages = nil
		c.events(1, "", 10)
	}, `2 checkpoint r1 running 1-1 1:a="1" by system ok ; 3 checkpoint r2 1-1 1:a="2" by system ok ; 4 checkpoint r1 ` +
		`waiting:timer by system ok `},
	{"audit: the records of a checkpoint follow its event", func(c *caller) {
		r := c.begin()
		c.commit(
			domain.Checkpoint{
				Run:     r,
				Entries: []domain.Entry{entry("a", "1")},
				Audit:   []domain.AuditRecord{{Action: "x", Actor: "w", Object: "o", Reason: "y"}},
			},
		)
		c.events(1, r, 10)
	}, `ok|2 checkpoint r1 1-1 1:a="1" by system ok ; 3 x r1 o 0-1 by w ok y`},
	{"audit: of a refused checkpoint there is nothing", func(c *caller) {
		r := c.begin()
		c.commit(domain.Checkpoint{Run: r, Fence: 4, Audit: []domain.AuditRecord{{Action: "x"}}})
		c.events(1, "", 10)
	}, "conflict|"},
	{"audit: an act that belongs to no checkpoint", func(c *caller) {
		c.note("%s", word(c.s.Audit(context.Background(), domain.AuditRecord{Action: "login", Actor: "w", Result: "denied", Reason: "no"})))
		c.events(1, "", 10)
	}, "ok|2 login by w denied no"},
	{"audit: in parts", func(c *caller) {
		r := c.begin()
		for i := range int64(4) {
			c.at(r, i, "1", nil)
		}
		c.messages = nil
		c.events(1, "", 2)
		c.events(3, "", 2)
		c.events(5, "", 2)
		c.events(2, r, 1)
	}, `2 checkpoint r1 1-1 1:a="1" by system ok ; 3 checkpoint r1 2-2 2:a="1" by system ok |4 checkpoint r1 3-3 3:a="1" by ` +
		`system ok ; 5 checkpoint r1 4-4 4:a="1" by system ok ||` +
		`3 checkpoint r1 2-2 2:a="1" by system ok `},
	{"audit: the newest number", func(c *caller) {
		c.at(c.begin(), 0, "1", nil)
		n, err := c.s.LastEvent(context.Background())
		c.note("%d %s", n, word(err))
	}, "ok|2 ok"},

	// Approvals.
	{"approval: asked, and answered once", func(c *caller) {
		r := c.begin()
		a := domain.Approval{
			ID:        "A",
			PlanKey:   "p",
			Node:      "n",
			Visit:     1,
			Item:      -1,
			Message:   "go?",
			Status:    "pending",
			OnTimeout: "fail",
			CreatedAt: noon,
		}
		c.commit(domain.Checkpoint{Run: r, Approvals: []domain.Approval{a}})
		c.approval("A")
		a.Message, a.Status, a.DecidedAt, a.DecidedBy, a.Comment, a.Values = "something else", "approved", noon, "w", "fine",
			domain.RawJSON(
				`{"a":1}`,
			)
		c.commit(domain.Checkpoint{Run: r, Approvals: []domain.Approval{a}})
		c.approval("A")
	}, `ok|A n "go?" pending by  "" values |ok|A n "go?" approved by w "fine" values {"a":1}`},
	{"approval: closed by nobody at no time", func(c *caller) {
		r := c.begin()
		c.commit(
			domain.Checkpoint{
				Run:       r,
				Entries:   []domain.Entry{entry("a", "1")},
				Approvals: []domain.Approval{{ID: "A", Status: "approved", Node: "n"}},
			},
		)
		c.approval("A")
		c.journal(r, 0)
	}, "conflict|not_found|[]"},
	{"approval: unknown", func(c *caller) { c.approval("B") }, "not_found"},

	// Queries of the engine at startup.
	{"unfinished: by priority, then age", func(c *caller) {
		for _, p := range []int{0, 5, -1, 5} {
			c.create(domain.NewRun{Priority: p})
		}
		c.unfinished()
	}, "r2 r4 r1 r3"},
	{"unfinished: without those that ended", func(c *caller) {
		a, b, d := c.begin(), c.begin(), c.begin()
		c.move(a, 0, domain.RunCompleted, "")
		c.move(b, 0, domain.RunWaiting, domain.WaitTimer)
		c.move(d, 0, domain.RunCancelled, "")
		c.unfinished()
	}, "ok|ok|ok|r2"},
	{"concurrency: active ones, oldest first", func(c *caller) {
		of := func(key string) string {
			return c.create(domain.NewRun{Concurrency: &domain.Concurrency{Key: key, Limit: 1, OnConflict: "queue"}})
		}
		a := of("one")
		of("two")
		of("one")
		c.active("one")
		c.move(a, 0, domain.RunFailed, "")
		c.active("one")
		c.active("")
		c.active("three")
	}, "r1 r3|ok|r3||"},
	{"concurrency: skip and cancel_oldest", func(c *caller) {
		of := func(on string, limit int) string {
			return c.create(domain.NewRun{Concurrency: &domain.Concurrency{Key: "one", Limit: limit, OnConflict: on}})
		}
		a := of("skip", 1)
		of("skip", 1)
		c.run(of("skip", 2))
		c.run(of("cancel_oldest", 2))
		c.move(a, 0, domain.RunFailed, "")
		c.run(of("cancel_oldest", 1))
		of("skip", 4)
		of("skip", 4)
	}, "conflict|r2 p@1 queued seq 0 steps 0 concurrency {one 2 skip}|" +
		"r3 p@1 queued seq 0 steps 0 concurrency {one 2 cancel_oldest} cancels r1|ok|" +
		"r4 p@1 queued seq 0 steps 0 concurrency {one 1 cancel_oldest} cancels r2 cancels r3|conflict"},
	{"hold: there is none, and none is ended", func(c *caller) {
		h, err := c.s.Hold(context.Background())
		ended, err2 := c.s.EndHold(context.Background(), someone, "why")
		c.note("%v %s %v %s", h, word(err), ended, word(err2))
		c.events(1, "", 9)
	}, "<nil> ok false ok|"},
}
