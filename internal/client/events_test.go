package client_test

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner"
)

func TestUnixSocketNeedsNoToken(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	h, err := api.New(api.Config{App: app.New(apptest.Config(t, e.Store, e.Engine)), Reader: e.Store, Engine: e.Engine, Local: &root})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kairosd.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { h.Close(); _ = srv.Close() })
	c := client.Unix(path)
	t.Cleanup(func() { _ = c.Close() })
	if who, err := c.Me(t.Context()); err != nil || who.Name != "cli:root" || who.Role != domain.RoleAdmin {
		t.Errorf("Me = %+v, %v", who, err)
	}
	if _, _, _, _, err := c.SavePlan(t.Context(), []byte("id: x\nnodes: {a: {type: set, input: 1}}\n"), planner.FormatYAML, "",
		""); err != nil {
		t.Error(err)
	}
	s, err := c.Start(t.Context(), domain.StartRequest{Plan: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if r := settled(t, c, s.ID); string(r.Output) != "1" {
		t.Errorf("got %+v", r)
	}
}

func TestEventsContinueAfterADisconnect(t *testing.T) {
	t.Parallel()
	d := start(t)
	operator := d.as(t, domain.RoleOperator)
	d.engine.Save(chain)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := operator.Start(ctx, domain.StartRequest{Plan: "chain"})
	if err != nil {
		t.Fatal(err)
	}
	settled(t, operator, s.ID)
	var all []domain.Event
	for e := range operator.Events(ctx, s.ID, "") {
		all = append(all, e)
		if e.Type == "node_completed" && e.Data["node"] == "b" {
			break
		}
	}
	var first domain.Event
	for _, e := range all {
		if e.ID != "" {
			first = e
			break
		}
	}
	if len(all) < 3 || first.ID == "" {
		t.Fatalf("events: %+v", all)
	}
	// Continuing after an event delivers exactly the following events, also across an interruption.
	n := 0
	for e, err := range operator.Events(ctx, s.ID, first.ID) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq < first.Seq || e.Seq == first.Seq && e.Index <= first.Index {
			t.Errorf("event %s came again", e.ID)
		}
		if n++; n == 1 {
			d.server.CloseClientConnections()
		}
		if e.Seq == all[len(all)-1].Seq {
			break
		}
	}
}

func TestWaitAndSubscribe(t *testing.T) {
	t.Parallel()
	d := start(t)
	operator := d.as(t, domain.RoleOperator)
	d.engine.Save(chain)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run, err := operator.Start(ctx, domain.StartRequest{Plan: "chain"})
	if err != nil {
		t.Fatal(err)
	}
	events, err := operator.Subscribe(ctx, 0, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	done, err := operator.Wait(ctx, run.ID)
	if err != nil || done.Status != domain.RunCompleted {
		t.Fatalf("Wait = %+v, %v", done, err)
	}
	for e := range events {
		if e.Type == "node_completed" && e.Data["node"] == "b" {
			break
		}
	}
	late, err := operator.Subscribe(ctx, -1, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operator.Act(ctx, domain.ActionRequest{Run: run.ID, Action: domain.ActionDelete, Reason: "over"}); err != nil {
		t.Fatal(err)
	}
	if e := <-late; e.Type == "node_completed" || e.Type == "run_created" {
		t.Errorf("from now on begins with %+v", e)
	}
	detail, err := operator.Detail(ctx, run.ID)
	if err != nil || len(detail.Journal) == 0 || string(detail.Run.Output) == "" {
		t.Errorf("Detail = %+v, %v", detail, err)
	}
}
