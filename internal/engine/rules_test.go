package engine

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	unsafe, once := planner.EffectUnsafe, planner.EffectIdempotent
	for name, tt := range map[string]struct {
		judgement
		want fate
	}{
		"a failure is tried again":                  {judgement{effect: once, tries: 1, most: 2}, fateRetry},
		"the last attempt fails":                    {judgement{effect: once, tries: 2, most: 2}, fateFailed},
		"a permanent failure fails at once":         {judgement{effect: once, tries: 1, most: 9, permanent: true}, fateFailed},
		"a stopping run tries nothing again":        {judgement{effect: once, tries: 1, most: 9, stopping: true}, fateFailed},
		"an interruption costs no retry":            {judgement{effect: once, tries: 9, most: 1, interrupted: true}, fateInterrupted},
		"a cancelled attempt":                       {judgement{effect: once, tries: 1, most: 1, cancelled: true}, fateCancelled},
		"unsafe without proof":                      {judgement{effect: unsafe, tries: 1, most: 3}, fateDoubt},
		"unsafe, permanent, without proof":          {judgement{effect: unsafe, tries: 1, most: 3, permanent: true}, fateDoubt},
		"unsafe with proof is tried again":          {judgement{effect: unsafe, tries: 1, most: 3, noEffect: true}, fateRetry},
		"unsafe, interrupted":                       {judgement{effect: unsafe, tries: 1, most: 1, interrupted: true}, fateDoubt},
		"unsafe, interrupted before it began":       {judgement{effect: unsafe, tries: 1, most: 1, interrupted: true, noEffect: true}, fateInterrupted},
		"unsafe, cancelled":                         {judgement{effect: unsafe, tries: 1, most: 1, cancelled: true}, fateDoubt},
		"a stepped handler between its steps":       {judgement{effect: unsafe, stepped: true, tries: 1, most: 1, interrupted: true}, fateInterrupted},
		"a stepped handler with a step in flight":   {judgement{effect: unsafe, stepped: true, openCall: true, tries: 1, most: 1, interrupted: true}, fateDoubt},
		"an open call in an idempotent step":        {judgement{effect: once, stepped: true, openCall: true, tries: 1, most: 3}, fateDoubt},
		"an open call in an interrupted step":       {judgement{effect: once, stepped: true, openCall: true, tries: 1, most: 3, interrupted: true}, fateDoubt},
		"an open call beside a harmless failure":    {judgement{effect: unsafe, stepped: true, openCall: true, noEffect: true, tries: 1, most: 3}, fateDoubt},
		"an open call in a pure step, cancelled":    {judgement{effect: planner.EffectPure, openCall: true, cancelled: true, tries: 1, most: 1}, fateDoubt},
		"pure and read attempts are never in doubt": {judgement{effect: planner.EffectRead, tries: 1, most: 1}, fateFailed},
	} {
		if got := tt.verdict(); got != tt.want {
			t.Errorf("%s: got %d, want %d", name, got, tt.want)
		}
	}
}

func TestWaitsInOrderOfPrecedence(t *testing.T) {
	t.Parallel()
	doc, problems := planner.Parse([]byte(`{nodes: {a: {type: wait, input: {for: 1h}}, b: {type: approval, input: {message: m}}, c: {type: x, needs: [a, b]}}}`), planner.FormatYAML)
	if doc == nil {
		t.Fatal(problems)
	}
	p, err := doc.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newState(p, facts{run: "r"})
	now := time.Unix(1000, 0).UTC()
	row := func(e domain.Entry) {
		t.Helper()
		e.Seq, e.At = s.seq+1, now
		if err := s.apply(&e); err != nil {
			t.Fatal(err)
		}
	}
	all := func(*work) bool { return false }
	first := func() domain.WaitReason { return s.waits()[0].Reason }
	row(domain.Entry{Kind: domain.EntryWait, Node: "a", Visit: 1, Item: -1, Attempt: 1, Reason: "timer", DueAt: now.Add(time.Hour)})
	if first() != domain.WaitTimer || !s.due(all).Equal(now.Add(time.Hour)) {
		t.Errorf("got %s due %s", first(), s.due(all))
	}
	row(domain.Entry{Kind: domain.EntryWait, Node: "b", Visit: 1, Item: -1, Attempt: 1, Reason: "approval", Ref: "x", Input: domain.RawJSON(`{"message":"m"}`)})
	if first() != domain.WaitApproval || s.waits()[0].Message != "m" {
		t.Errorf("got %+v, want the approval first", s.waits())
	}
	row(domain.Entry{Kind: domain.EntryVerb, Item: -1, Decision: payload{Verb: "budget", Message: "max_steps 1 is used up"}.json()})
	if got := s.waits()[0].Reason; got != domain.WaitBudget {
		t.Errorf("got %s, want budget before approval", got)
	}
	row(domain.Entry{Kind: domain.EntryVerb, Item: -1, Decision: payload{Verb: "pause"}.json()})
	if first() != domain.WaitPaused || len(s.waits()) != 4 {
		t.Errorf("got %+v, want paused first of four", s.waits())
	}
	row(domain.Entry{Kind: domain.EntryVerb, Item: -1, Decision: payload{Verb: "quarantine"}.json()})
	if first() != domain.WaitQuarantined {
		t.Errorf("got %s, want quarantined first", first())
	}
}

// A journal that contradicts itself is refused, with the row named, and never
// panics.
func TestFoldRefusesNonsense(t *testing.T) {
	t.Parallel()
	doc, problems := planner.Parse([]byte(`{nodes: {a: {type: set, input: 1}}}`), planner.FormatYAML)
	if doc == nil {
		t.Fatal(problems)
	}
	p, err := doc.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]domain.Entry{
		"a gap":              {Seq: 2, Kind: domain.EntryIntent, Node: "a", Visit: 1, Item: -1},
		"an unknown node":    {Seq: 1, Kind: domain.EntryIntent, Node: "zz", Visit: 1, Item: -1},
		"a closed visit":     {Seq: 1, Kind: domain.EntryIntent, Node: "a", Visit: 7, Item: -1},
		"an item of nothing": {Seq: 1, Kind: domain.EntryResult, Final: true, Node: "a", Visit: 1, Item: 5, Status: domain.NodeCompleted},
		"broken output":      {Seq: 1, Kind: domain.EntryResult, Final: true, Node: "a", Visit: 1, Item: -1, Status: domain.NodeCompleted, Output: domain.RawJSON(`{`)},
		"broken decision":    {Seq: 1, Kind: domain.EntryResult, Final: true, Node: "a", Visit: 1, Item: -1, Status: domain.NodeCompleted, Decision: domain.RawJSON(`[]`)},
		"an unknown kind":    {Seq: 1, Kind: "song", Node: "a", Visit: 1, Item: -1},
		"an unknown verb":    {Seq: 1, Kind: domain.EntryVerb, Item: -1, Decision: domain.RawJSON(`{"verb":"sing"}`)},
		"a broken reset":     {Seq: 1, Kind: domain.EntryReset, Item: -1, Decision: domain.RawJSON(`7`)},
		"a doubtless answer": {Seq: 1, Kind: domain.EntryResolve, Node: "a", Visit: 9, Item: -1, Decision: payload{Action: "skip"}.json()},
	} {
		if _, err := fold(p, facts{run: "r"}, []domain.Entry{e}); domain.CodeOf(err) != domain.CodeCorrupt {
			t.Errorf("%s: got %v, want a corrupt journal", name, err)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	l := limitsOf(domain.Limits{MaxTokens: 10}, planner.Limits{MaxSteps: 5, MaxTokens: 99, MaxDuration: planner.Duration(time.Minute)})
	if want := (domain.Limits{MaxSteps: 5, MaxTokens: 10, MaxDuration: time.Minute}); l != want {
		t.Errorf("got %+v, want %+v", l, want)
	}
	if l := limitsOf(domain.Limits{}, planner.Limits{}); l.MaxSteps != 100_000 {
		t.Errorf("got %+v, want the default of 100,000 steps (ruling 28)", l)
	}
	for name, tt := range map[string]struct {
		spent
		over bool
	}{
		"nothing": {spent{}, false},
		"steps":   {spent{steps: 5}, true},
		"tokens":  {spent{usage: domain.Usage{InputTokens: 6, OutputTokens: 4}}, true},
		"time":    {spent{time: time.Minute}, true},
		"almost":  {spent{steps: 4, time: 59 * time.Second, usage: domain.Usage{InputTokens: 9}}, false},
	} {
		if got := exceeded(l2, tt.spent) != ""; got != tt.over {
			t.Errorf("%s: got %v, want %v", name, got, tt.over)
		}
	}
}

var l2 = domain.Limits{MaxSteps: 5, MaxTokens: 10, MaxDuration: time.Minute}

func TestTimerInput(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]string{
		`{"for": "10m"}`:                         "2026-01-02T03:14:05Z",
		`{"until": "2026-02-03T00:00:00Z"}`:      "2026-02-03T00:00:00Z",
		`{"until": "2026-02-03T00:00:00+01:00"}`: "2026-02-02T23:00:00Z",
		`{"for": "-1s"}`:                         "",
		`{"for": "soon"}`:                        "",
		`{"for": 3}`:                             "",
		`{"until": "tomorrow"}`:                  "",
		`{}`:                                     "",
		`"10m"`:                                  "",
		`{"for": "1s", "until": "x"}`:            "",
	} {
		v, err := planner.DecodeValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		due, err := timerDue(now, v)
		if got := due.Format(time.RFC3339); (want == "") != (err != nil) || want != "" && got != want {
			t.Errorf("%s: got %s, %v; want %q", text, got, err, want)
		}
	}
}
