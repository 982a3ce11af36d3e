package circuit_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/domain"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// After five consecutive failures, no call is permitted until one trial. See L07 in
// docs/internals/bad-inputs.md.
func TestBreaker(t *testing.T) {
	t.Parallel()
	now := began
	b := &circuit.Breaker{}
	call := func(v circuit.Verdict) {
		t.Helper()
		trial, wait := b.Enter(now)
		if wait > 0 {
			t.Fatalf("refused for %s", wait)
		}
		b.Leave(now, trial, v)
	}
	is := func(want domain.CircuitState) {
		t.Helper()
		if got, _, row := b.State(now); got != want {
			t.Fatalf("%s after %d failures, want %s", got, row, want)
		}
	}
	for range 3 {
		for range 4 {
			call(circuit.Unwell)
		}
		call(circuit.Silent) // an unknown outcome does not end the series
		is(domain.CircuitClosed)
		call(circuit.Well) // a server that responds is not down
		is(domain.CircuitClosed)
	}
	slow, wait := b.Enter(now) // a call that is active when the breaker opens
	if slow || wait > 0 {
		t.Fatal("refused")
	}
	for range 5 {
		call(circuit.Unwell)
	}
	is(domain.CircuitOpen)
	if _, wait := b.Enter(now.Add(time.Second)); wait != 29*time.Second {
		t.Errorf("wait %s, want 29s", wait)
	}
	b.Leave(now, slow, circuit.Unwell)
	if _, until, _ := b.State(now); until != now.Add(30*time.Second) {
		t.Errorf("a late failure moves the end to %s", until)
	}

	now = now.Add(30 * time.Second)
	is(domain.CircuitHalfOpen)
	trial, wait := b.Enter(now)
	if !trial || wait > 0 {
		t.Fatal("nothing is tried")
	}
	if _, wait := b.Enter(now); wait <= 0 {
		t.Error("two calls are tried at once")
	}
	b.Leave(now, trial, circuit.Silent) // an unknown outcome permits another trial
	is(domain.CircuitHalfOpen)
	for _, rest := range []time.Duration{time.Minute, time.Minute} {
		call(circuit.Unwell)
		is(domain.CircuitOpen)
		if _, wait := b.Enter(now); wait != rest {
			t.Errorf("the pause is %s, want %s", wait, rest)
		}
		now = now.Add(rest)
	}
	call(circuit.Well)
	is(domain.CircuitClosed)
	for range 4 {
		call(circuit.Unwell)
	}
	is(domain.CircuitClosed)
}

func TestBreakerSettingsAndRestart(t *testing.T) {
	t.Parallel()
	now := began
	never := &circuit.Breaker{Settings: circuit.Settings{Failures: -1}}
	quick := &circuit.Breaker{Settings: circuit.Settings{Failures: 1, Cooldown: time.Second}}
	for range 100 {
		never.Leave(now, false, circuit.Unwell)
	}
	quick.Leave(now, false, circuit.Unwell)
	if c, _, row := never.State(now); c != domain.CircuitClosed || row != 100 {
		t.Errorf("%s, %d", c, row)
	}
	state, until, row := quick.State(now)
	if state != domain.CircuitOpen || until != now.Add(time.Second) {
		t.Fatalf("%s until %s", state, until)
	}
	again := &circuit.Breaker{}
	again.Restore(now, state, row)
	if trial, wait := again.Enter(now); !trial || wait > 0 {
		t.Error("the first call after a restart is not tried")
	}
	for _, s := range []circuit.Settings{{Failures: -2}, {Cooldown: -1}, {Cooldown: 2 * time.Hour}} {
		if s.Check("x") == nil {
			t.Errorf("%+v is taken", s)
		}
	}
}

// model is the specification of a breaker as a plain list of events.
type model struct {
	row   int
	open  bool // open or half open
	until time.Time
}

// For every order of calls, operator actions, and times: an open breaker permits nothing before
// its time, and reports that time; a half-open one permits one call at a time; a closed one
// permits all. It opens exactly after the configured number of consecutive failures, or after a
// failed trial, for at least Rest and at most the limit. Only a success or an operator closes it.
func TestBreakerStates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := circuit.Settings{
			Failures: rapid.IntRange(-1, 4).Draw(t, "failures"),
			Cooldown: time.Duration(rapid.IntRange(0, 100).Draw(t, "rest")) * time.Second,
		}
		b := &circuit.Breaker{Settings: s}
		full := s.WithDefaults()
		now, m := began, model{}
		var calls []bool // active calls: whether each is a trial
		trials := 0
		t.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 70).Draw(t, "seconds")) * time.Second)
			},
			"enter": func(t *rapid.T) {
				trial, wait := b.Enter(now)
				switch {
				case !m.open && (trial || wait != 0):
					t.Fatalf("closed: trial %t, wait %s", trial, wait)
				case m.open && now.Before(m.until) && wait != m.until.Sub(now):
					t.Fatalf("open until %s: wait %s at %s", m.until, wait, now)
				case m.open && !now.Before(m.until) && trials > 0 && wait <= 0:
					t.Fatal("two trials at once")
				case m.open && !now.Before(m.until) && trials == 0 && !trial:
					t.Fatalf("half open: no trial, wait %s", wait)
				}
				if wait == 0 {
					calls = append(calls, trial)
					if trial {
						trials++
					}
				}
			},
			"leave": func(t *rapid.T) {
				if len(calls) == 0 {
					t.Skip("no call is under way")
				}
				i := rapid.IntRange(0, len(calls)-1).Draw(t, "call")
				trial, v := calls[i], rapid.SampledFrom([]circuit.Verdict{circuit.Silent, circuit.Well, circuit.Unwell}).Draw(t, "verdict")
				calls = append(calls[:i:i], calls[i+1:]...)
				if trial {
					trials--
				}
				b.Leave(now, trial, v)
				switch {
				case v == circuit.Well:
					m = model{}
				case v == circuit.Unwell:
					m.row++
					if trial || !m.open && full.Failures > 0 && m.row >= full.Failures {
						state, until, _ := b.State(now)
						if rest := until.Sub(now); state != domain.CircuitOpen || rest < full.Cooldown ||
							rest > max(time.Minute, full.Cooldown) {
							t.Fatalf("after %d failures (trial %t): %s for %s", m.row, trial, state, rest)
						}
						m.open, m.until = true, until
					}
				}
			},
			"person closes": func(*rapid.T) {
				m = model{}
				b, trials = &circuit.Breaker{Settings: s}, 0
				for i := range calls {
					calls[i] = false
				}
			},
			"restart": func(t *rapid.T) {
				state, _, row := b.State(now)
				b = &circuit.Breaker{Settings: s}
				b.Restore(now, state, row)
				calls, trials = nil, 0
				if m.open {
					m.until = now
				}
			},
			"": func(t *rapid.T) {
				want := domain.CircuitClosed
				if m.open {
					if want = domain.CircuitHalfOpen; now.Before(m.until) {
						want = domain.CircuitOpen
					}
				}
				if got, _, row := b.State(now); got != want || row != m.row {
					t.Fatalf("%s with %d failures in a row, want %s with %d", got, row, want, m.row)
				}
			},
		})
	})
}
