package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/schedule"
	"github.com/kairosd/kairosd/internal/store"
)

// Work that comes in: W8 measures deliveries to hooks, W9 schedules, and W10 signals. They measure
// kairosd alone, and only on request.

// incoming is a measurement of work that comes in: named amounts, and their ratio.
type incoming struct {
	Base, Rate float64
	Ratio      float64
	// Late, if not 0, is a second ratio.
	Late float64
}

func scale(n int) int {
	if *tiny {
		return max(n/100, 2)
	}
	return n
}

// measureHooks is W8: POST /runs and deliveries to a hook, in turn, each acknowledged after the
// commit.
func measureHooks(ctx context.Context) (m incoming, err error) {
	dir, err := os.MkdirTemp(*dirFlag, "bench-")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	b, err := build(ctx, "..", filepath.Join(dir, "bin"))
	if err != nil {
		return m, err
	}
	config := filepath.Join(dir, "kairos.yaml")
	settings := "hooks: {rate: 100000}\nsecrets:\n  BENCH: {env: BENCH_SECRET, hooks: true}\n"
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		return m, err
	}
	data := filepath.Join(dir, "data")
	token, err := exec.CommandContext(ctx, b.kairosd, "token", "create", "--name", "bench", "--data", data, "--role", "author").Output()
	if err != nil {
		return m, fmt.Errorf("create a token: %w", err)
	}
	cmd := exec.CommandContext(ctx, b.kairosd, "serve", "--data", data, "--listen", "127.0.0.1:0", "--config", config)
	cmd.Env = append(os.Environ(), "BENCH_SECRET="+benchSecret)
	url, err := serve(cmd)
	if err != nil {
		return m, err
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	api := &apiClient{url: url + "/api/v1", token: lastWord(string(token))}
	var ignored json.RawMessage
	plan := "id: hello\nnodes:\n  say: {type: set, input: \"hello ${input.x}\"}\n"
	if err := api.call(ctx, "POST", "/plans", "application/yaml", []byte(plan), &ignored); err != nil {
		return m, err
	}
	if err := api.call(ctx, "POST", "/hooks", "application/json",
		[]byte(`{"key": "bench", "plan": "hello", "scheme": "bearer", "secret": "BENCH"}`), &ignored); err != nil {
		return m, err
	}
	posts := func(i int) error {
		return api.call(ctx, "POST", "/runs", "application/json", []byte(`{"plan": "hello", "input": {"x": 42}}`), &ignored)
	}
	deliveries := func(i int) error { return deliver(ctx, url+"/hooks/bench", domain.NewID()) }
	var starts, hooks []float64
	for range 5 {
		for _, of := range []struct {
			f    func(i int) error
			rate *[]float64
		}{{posts, &starts}, {deliveries, &hooks}} {
			begin, n := time.Now(), scale(2000)
			if err := inParallel(n, of.f); err != nil {
				return m, err
			}
			*of.rate = append(*of.rate, float64(n)/time.Since(begin).Seconds())
		}
	}
	m.Base, m.Rate = median(starts), median(hooks)
	m.Ratio = m.Rate / m.Base
	return m, nil
}

const benchSecret = "a secret of sufficient length"

// senders is the number of connections that send at once.
const senders = 32

// inParallel calls fn for 0 to n-1 from several goroutines.
func inParallel(n int, fn func(i int) error) error {
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range n {
			next <- i
		}
	}()
	return together(senders, func(int) (err error) {
		for i := range next {
			if e := fn(i); e != nil && err == nil {
				err = e // the others are still received
			}
		}
		return err
	})
}

func deliver(ctx context.Context, url, id string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(`{"x": 42}`)))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+benchSecret)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", id)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("a delivery: %s %s", resp.Status, body)
	}
	return err
}

// slots is W9: schedules, of which some are due in the same second, while other runs work.
var slots = struct{ schedules, due, working int }{10_000, 1_000, 8}

// measureSchedules is W9. Base is the time of starting as many runs as slots are due, Rate the time
// until the last slot has started, and Ratio the second in units of the first. Late is the median
// time of a checkpoint of running work while slots start, in units of the one while runs start.
func measureSchedules(ctx context.Context) (m incoming, err error) {
	dir, err := os.MkdirTemp(*dirFlag, "bench-")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	w := &pace{last: map[string]time.Time{}}
	sys, err := openKairosd(ctx, dir, false, w.step)
	if err != nil {
		return m, err
	}
	defer sys.close()
	k := sys.(*kairosdSystem)
	if err := k.define(ctx, shape{name: "slot", runs: 1, steps: 1}); err != nil {
		return m, err
	}
	// The runs that work repeat two steps with an effect.
	work := "id: bench-work\nnodes:\n  a: {type: call, max_visits: 100000}\n  b: {type: call, max_visits: 100000}\n" +
		"edges:\n  - {from: a, to: b}\n  - {from: b, to: a}\nstart: a\n"
	if err := k.save(ctx, "work", work); err != nil {
		return m, err
	}
	plan, err := k.store.Plan(ctx, "bench-slot")
	if err != nil {
		return m, err
	}
	never := time.Now().AddDate(1, 0, 0)
	ids, err := k.schedules(plan.ID, never, scale(slots.schedules))
	if err != nil {
		return m, err
	}
	if err := k.start(ctx, shape{name: "work", runs: slots.working}); err != nil {
		return m, err
	}
	var starts, lags, plain, busy []float64
	for range 5 {
		time.Sleep(time.Second) // the work alone
		begin := time.Now()
		if err := inParallel(scale(slots.due), func(int) error {
			_, err := k.engine.Start(ctx, operator, domain.StartRequest{Hash: k.plans["slot"], Input: domain.RawJSON(`{"x": 42}`)})
			return err
		}); err != nil {
			return m, err
		}
		starts, plain = append(starts, time.Since(begin).Seconds()), append(plain, w.median(begin))
		time.Sleep(time.Second)
		due := time.Now()
		if err := k.due(ids[:scale(slots.due)], due); err != nil {
			return m, err
		}
		timer := schedule.New(schedule.Config{Store: k.store, Engine: k.engine.Timed()})
		begin = time.Now()
		if _, err := timer.Tick(ctx); err != nil {
			return m, err
		}
		lags, busy = append(lags, time.Since(begin).Seconds()), append(busy, w.median(begin))
	}
	m.Base, m.Rate = median(starts), median(lags)
	m.Ratio, m.Late = m.Rate/m.Base, median(busy)/median(plain)
	return m, nil
}

// pace measures the time between two steps of a run.
type pace struct {
	mu   sync.Mutex
	last map[string]time.Time
	list []gap
}

type gap struct {
	at   time.Time
	took time.Duration
}

func (p *pace) step(run string, _ int) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if before, ok := p.last[run]; ok {
		p.list = append(p.list, gap{now, now.Sub(before)})
	}
	p.last[run] = now
}

// median returns the median since a time.
func (p *pace) median(since time.Time) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []float64
	for _, g := range p.list {
		if g.at.After(since) {
			list = append(list, g.took.Seconds())
		}
	}
	p.list = nil
	return median(list)
}

// do performs an operation on the store.
func (k *kairosdSystem) do(f func(tx *store.Tx) error) error {
	_, _, err := k.store.Do(store.Operation{Name: "bench", Action: "bench", By: operator, At: time.Now()},
		func(tx *store.Tx) (string, error) { return "bench", f(tx) })
	return err
}

// schedules creates schedules of a plan, whose next slot is at a time.
func (k *kairosdSystem) schedules(plan string, at time.Time, n int) ([]domain.Schedule, error) {
	list := make([]domain.Schedule, n)
	return list, together(n, func(i int) error {
		list[i] = domain.Schedule{ID: domain.NewID(), Key: fmt.Sprintf("s%d", i), PlanID: plan, Next: at, Due: at, Actor: operator.Name,
			ScheduleSpec: domain.ScheduleSpec{Cron: "0 0 1 1 *", Zone: "UTC", Input: domain.RawJSON(`{"x": 42}`),
				Overlap: domain.OverlapSkip, CatchUp: domain.CatchUpLast}}
		return k.do(func(tx *store.Tx) error { return tx.Schedules().Create(list[i]) })
	})
}

// due makes schedules due at a time.
func (k *kairosdSystem) due(list []domain.Schedule, at time.Time) error {
	return together(len(list), func(i int) error {
		x := list[i]
		x.Next, x.Due = at.Truncate(time.Second).UTC(), at
		return k.do(func(tx *store.Tx) error { return tx.Schedules().Change(x) })
	})
}

// waits is W10: the number of runs that wait for a signal, at first and at the end.
var waits = struct{ few, many, wake int }{100, 100_000, 50}

// measureSignals is W10. Base is the time of waking a run among few waiting ones, Rate that among
// many, and Ratio the second in units of the first.
func measureSignals(ctx context.Context) (m incoming, err error) {
	dir, err := os.MkdirTemp(*dirFlag, "bench-")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	sys, err := openKairosd(ctx, dir, false, func(string, int) {})
	if err != nil {
		return m, err
	}
	defer sys.close()
	k := sys.(*kairosdSystem)
	s := shape{name: "wait", runs: 1, steps: 1}
	if err := k.save(ctx, s.name, "id: bench-wait\nnodes:\n  w: {wait: {event: \"go.${input.n}\"}}\n"); err != nil {
		return m, err
	}
	began := 0
	begin := func(n int) error {
		from := began
		began = n
		return inParallel(n-from, func(i int) error {
			r, err := k.engine.Start(ctx, operator, domain.StartRequest{Hash: k.plans[s.name],
				Input: domain.RawJSON(fmt.Sprintf(`{"n": %d}`, from+i))})
			for err == nil && r.Status != domain.RunWaiting {
				time.Sleep(time.Millisecond)
				r, err = k.store.Run(ctx, r.ID)
			}
			return err
		})
	}
	next := 0
	wake := func() (float64, error) {
		var took []float64
		for range min(waits.wake, scale(waits.few)/2) {
			x := domain.Signal{ID: domain.NewID(), Name: fmt.Sprintf("go.%d", next), Data: domain.RawJSON("1"), Actor: operator.Name,
				Source: "bench", CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour)}
			next++
			at := time.Now()
			if err := k.do(func(tx *store.Tx) error { return tx.Incoming().Send(x) }); err != nil {
				return 0, err
			}
			k.engine.SignalStored(ctx, x.Name, "")
			took = append(took, time.Since(at).Seconds())
		}
		return median(took), nil
	}
	if err = begin(scale(waits.few)); err == nil {
		m.Base, err = wake()
	}
	if err == nil {
		err = begin(scale(waits.many))
	}
	if err == nil {
		m.Rate, err = wake()
	}
	m.Ratio = m.Rate / m.Base
	return m, err
}

// incomingWorkloads lists the workloads of work that comes in, with a line for the table.
var incomingWorkloads = map[string]struct {
	measure func(context.Context) (incoming, error)
	line    func(f func(func(incoming) float64) float64) string
}{
	"W8": {measureHooks, func(f func(func(incoming) float64) float64) string {
		return fmt.Sprintf("deliveries to a hook: %.2f× the rate of POST /runs (%s and %s per second)", f(ratio),
			thousands(f(rate)), thousands(f(base)))
	}},
	"W9": {measureSchedules, func(f func(func(incoming) float64) float64) string {
		return fmt.Sprintf("%d of %d schedules due at once: the last has started after %.2f× the time of as many starts "+
			"(%.0f and %.0f ms); a step of running work takes %.2f× its time during these starts", scale(slots.due),
			scale(slots.schedules), f(ratio), 1000*f(rate), 1000*f(base), f(func(m incoming) float64 { return m.Late }))
	}},
	"W10": {measureSignals, func(f func(func(incoming) float64) float64) string {
		return fmt.Sprintf("waking one of %d waiting runs: %.2f× the time with %d (%.2f and %.2f ms)", scale(waits.many), f(ratio),
			scale(waits.few), 1000*f(rate), 1000*f(base))
	}},
}

func base(m incoming) float64  { return m.Base }
func rate(m incoming) float64  { return m.Rate }
func ratio(m incoming) float64 { return m.Ratio }
