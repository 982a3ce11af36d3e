package filter_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

var now = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]domain.RunFilter{
		"": {},
		"status:failed,cancelled plan:invoice v:14": {Statuses: []domain.RunStatus{"failed", "cancelled"}, PlanKey: "invoice",
			Version: 14},
		"status:succeeded": {Statuses: []domain.RunStatus{"completed"}},
		"status:needs_you": {WaitReasons: []domain.WaitReason{"approval", "budget", "replan", "held",
			"quarantined"}},
		"-status:completed,failed":         {Statuses: []domain.RunStatus{"queued", "running", "waiting", "cancelled"}},
		`plan:"my plan" text:"rate limit"`: {PlanKey: "my plan", Text: "rate limit"},
		"label.env=prod 7qx2":              {Labels: map[string]string{"env": "prod"}, IDTail: "7qx2"},
		"rate limit":                       {Text: "rate limit"},
		"until:2030-01-30T08:00+01:00":     {Until: time.Date(2030, 1, 30, 8, 0, 0, 0, time.FixedZone("", 3600))},
		"has:crash,note":                   {HasCrash: true, HasNote: true},
		"since:24h until:2030-01-30T08:00": {Since: now.Add(-24 * time.Hour),
			Until: time.Date(2030, 1, 30, 8, 0, 0, 0, time.UTC)},
		"took:>5m cost:>1.5 steps:>20 has:fork": {MinTook: 5 * time.Minute, MinCost: 1.5, MinSteps: 20, HasFork: true},
		"took:<10s error:timeout,http_503":      {MaxTook: 10 * time.Second, ErrorCodes: []string{"timeout", "http_503"}},
		"node:post -plan:a,b -by:ci -error:x -node:y": {Node: "post",
			Exclude: domain.RunExclusion{PlanKeys: []string{"a", "b"}, Actors: []string{"ci"}, ErrorCodes: []string{"x"},
				Nodes: []string{"y"}}},
		"is:attention origin:api parent:p bulk:b by:m": {NeedsAttention: true, Origin: "api", Parent: "p", Bulk: "b", Actor: "m"},
		"status:failed,interrupted": {Statuses: []domain.RunStatus{"failed", "waiting"},
			WaitingFor: []domain.WaitReason{"in_doubt"}},
		"-status:paused invoice-triage": {Exclude: domain.RunExclusion{WaitReasons: []domain.WaitReason{"paused"}},
			Word: "invoice-triage"},
		"plan:a,b step:x,y by:m,n trigger:ui,api": {PlanKeys: []string{"a", "b"}, Nodes: []string{"x", "y"},
			Actors: []string{"m", "n"}, Origins: []string{"ui", "api"}},
		"agent:triage tool:erp.post,http -provider:p": {Agents: []string{"triage"}, Tools: []string{"erp.post", "http"},
			Exclude: domain.RunExclusion{Providers: []string{"p"}}},
		"attempt:>2 cost:<0.5 -label.env=prod": {MinAttempts: 2, MaxCost: 0.5,
			Exclude: domain.RunExclusion{Labels: map[string]string{"env": "prod"}}},
		"profile:a,b -profile:c": {RunCause: domain.RunCause{Profiles: []string{"a", "b"}},
			Exclude: domain.RunExclusion{Profiles: []string{"c"}}},
		"is:acknowledged": {Statuses: []domain.RunStatus{"failed"}, Acknowledged: true},
		`"http://x"`:      {Text: "http://x"},
	} {
		got, problem := filter.Parse(q, now)
		if problem != nil {
			t.Errorf("%s: %v", q, problem)
		} else if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", q, d)
		}
	}
}

func TestErrorsSuggestACorrection(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]string{
		"stats:failed": "did you mean status:failed?", "status:faild": "did you mean status:failed?",
		"since:x": "write 24h, 7d or 2030-01-31T08:00", "took:5m": "write took:>5m or took:<10s",
		"has:cheese": "use one of the values of has: fork, note, approval, parent, crash", "has:frok": "did you mean has:fork?",
		"is:odd": "use one of the values of is: attention, acknowledged, deleted", "is:delted": "did you mean is:deleted?",
		"waiting:aproval": "did you mean waiting:approval?", "-text:x": "status, waiting, plan, step, error, agent, tool, " +
			"provider, trigger, profile, by, and labels can be negated",
	} {
		if _, problem := filter.Parse(q, now); problem == nil || problem.Suggestion != want {
			t.Errorf("%s: %+v, want %q", q, problem, want)
		}
	}
	for _, q := range []string{"plan:", "label.x", "cost:>NaN", "v:0", "id:ab", "plan:,", "attempt:2", "plan:a plan:b",
		"-attempt:>2", "-cost:>1"} {
		if _, problem := filter.Parse(q, now); problem == nil {
			t.Errorf("%s is understood", q)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`status:failed plan:"a b" -by:x label.a=b took:>5m`, `"`, `-`, `:`, `a:b:c`, "é:ß"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, q string) {
		first, problem := filter.Parse(q, now)
		if problem != nil || len(q) > 1000 {
			return
		}
		// The quoted terms have the same meaning.
		again := ""
		for _, s := range filter.Terms(q) {
			again += s + " "
		}
		second, problem := filter.Parse(again, now)
		if problem != nil {
			t.Fatalf("%q becomes %q: %v", q, again, problem)
		}
		if d := cmp.Diff(first, second); d != "" {
			t.Fatalf("%q becomes %q:\n%s", q, again, d)
		}
	})
}
