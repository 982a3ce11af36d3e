package driver_test

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/temporal/internal/drivertest"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// A run that kairosd started accepts a request only with kairosd's signature for this run, and only once.
func TestRequestsAreSigned(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, registry())
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Signer = public
	request := func(a domain.Action) wire.Action {
		return wire.Action{Actor: drivertest.Operator, Request: domain.ActionRequest{Run: w.ID, Action: a}}
	}
	sign := func(key ed25519.PrivateKey, run, update string, a domain.Action) wire.Signed {
		s, err := wire.Sign(key, run, update, request(a), w.Env.Now())
		if err != nil {
			t.Error(err)
		}
		return s
	}
	type attempt struct {
		name, refusal string
		err           *error
	}
	var attempts []attempt
	try := func(name, refusal string, arg any) {
		attempts = append(attempts, attempt{name, refusal, w.Update(wire.ActUpdate, arg)})
	}
	var old, pause wire.Signed
	w.At(time.Hour, func() {
		old = sign(key, w.ID, wire.ActUpdate, domain.ActionCancel)
		try("unsigned", "kairosd must sign", request(domain.ActionCancel))
		try("another key", "not valid", sign(other, w.ID, wire.ActUpdate, domain.ActionCancel))
		try("another run", "not valid", sign(key, "other", wire.ActUpdate, domain.ActionCancel))
		try("another update", "not valid", sign(key, w.ID, wire.DecideUpdate, domain.ActionCancel))
		changed := sign(key, w.ID, wire.ActUpdate, domain.ActionPause)
		changed.Body = []byte(strings.Replace(string(changed.Body), "pause", "cancel", 1))
		try("changed", "not valid", changed)
		pause = sign(key, w.ID, wire.ActUpdate, domain.ActionPause)
		try("signed", "", pause)
	})
	w.At(time.Hour+time.Minute, func() { try("again", "handled before", pause) })
	w.At(2*time.Hour, func() {
		try("old", "more than 10m", old)
		try("resume", "", sign(key, w.ID, wire.ActUpdate, domain.ActionResume))
	})
	run := w.Run(`{"nodes": {"a": {"type": "wait", "input": {"for": "48h"}}}}`, "")
	want(t, w, run, domain.RunCompleted, "null")
	if len(attempts) != 9 {
		t.Fatalf("%d attempts", len(attempts))
	}
	for _, a := range attempts {
		switch err := *a.err; {
		case a.refusal == "" && err != nil:
			t.Errorf("%s: %v", a.name, err)
		case a.refusal != "" && (err == nil || !strings.Contains(err.Error(), a.refusal)):
			t.Errorf("%s: %v, want %q", a.name, err, a.refusal)
		}
	}
}

// During maintenance, no step starts. An older announcement, and one that is not signed, change nothing.
func TestMaintenanceHoldsARun(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, registry())
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Signer = public
	begin := w.Env.Now()
	hold := func(on bool, at time.Duration) wire.Signed {
		s, err := wire.Sign(key, w.ID, wire.HoldSignal, wire.Hold{On: on, At: begin.Add(at)}, begin)
		if err != nil {
			t.Error(err)
		}
		return s
	}
	w.At(time.Hour, func() { w.Env.SignalWorkflow(wire.HoldSignal, hold(true, time.Hour)) })
	w.At(3*time.Hour, func() { w.Env.SignalWorkflow(wire.HoldSignal, hold(false, time.Minute)) })
	w.At(4*time.Hour, func() { w.Env.SignalWorkflow(wire.HoldSignal, wire.Hold{At: begin.Add(4 * time.Hour)}) })
	w.At(9*time.Hour, func() { w.Env.SignalWorkflow(wire.HoldSignal, hold(false, 9*time.Hour)) })
	run := w.Run(`{"nodes": {"wait": {"type": "wait", "input": {"for": "2h"}}, "sub": {"do": {"nodes": {"pay": {"type": "pay"}}}}},
		"edges": [{"from": "wait", "to": "sub"}], "start": "wait"}`, "")
	if run.Status != domain.RunCompleted || run.EndedAt.Sub(begin).Round(time.Second) < 9*time.Hour {
		t.Errorf("%s after %s", run.Status, run.EndedAt.Sub(begin))
	}
}
