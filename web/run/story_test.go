package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/bulk"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/draft"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/planning"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web"
)

// storyStart is the start of all stories' runs. morning is the time at which the pages are
// rendered.
var (
	storyStart = time.Date(2026, 3, 9, 1, 43, 32, 0, time.UTC)
	morning    = time.Date(2026, 3, 9, 2, 1, 0, 0, time.UTC)
)

// story is a run with fixed times, so that its page is reproducible: a plan, a journal, and the
// state that the engine would report.
type story struct {
	run      domain.Run
	program  *walk.Program
	journal  []domain.Entry
	waits    []domain.Wait
	handoffs []domain.Handoff
	messages []domain.AgentMessage
	approval []domain.Approval
	damage   *domain.Damage
}

// tell creates the story of a run.
func tell(tb testing.TB, id, src string) *story {
	tb.Helper()
	doc, problems := planner.Parse([]byte(src), planner.WithFormat(planner.FormatYAML))
	if doc == nil {
		tb.Fatal(problems)
	}
	p, err := doc.Program(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return &story{
		program: p,
		run: domain.Run{
			ID:         id,
			PlanID:     "p1",
			PlanKey:    p.ID,
			Version:    14,
			ProgramRef: domain.AsWritten(p.Hash),
			Status:     domain.RunRunning,
			Actor:      "schedule 0 2 * * *",
			Input:      domain.RawJSON(`{"invoice_id":"INV-20981","currency":"EUR"}`),
			CreatedAt:  storyStart,
			StartedAt:  storyStart,
		},
	}
}

// row adds a journal row, and sets omitted fields to defaults.
func (s *story) row(at time.Duration, e domain.Entry) *domain.Entry {
	e.Seq, e.At = int64(len(s.journal)+1), storyStart.Add(at)
	if e.Visit == 0 && e.Node != "" {
		e.Visit = 1
	}
	if e.Attempt == 0 && e.Node != "" {
		e.Attempt = 1
	}
	s.journal = append(s.journal, e)
	s.run.LastSeq = e.Seq
	if e.Final {
		s.run.Steps++
	}
	s.run.Usage = s.run.Usage.Add(e.Usage)
	return &s.journal[len(s.journal)-1]
}

// try adds an attempt of a step with its final status, or "" if it is running.
func (s *story) try(e domain.Entry, from, to time.Duration, status domain.NodeStatus, final bool) *domain.Entry {
	e.StartedAt = storyStart.Add(from)
	if e.Item == 0 {
		e.Item = -1
	}
	out, decided, failure, usage, log := e.Output, e.Decision, e.Failure, e.Usage, e.Log
	begun := e
	begun.Kind, begun.Status, begun.Output, begun.Decision, begun.Failure, begun.Usage, begun.Log = domain.EntryIntent,
		domain.NodeRunning, nil, nil, nil, domain.Usage{}, nil
	row := s.row(from, begun)
	if status == "" {
		return row
	}
	e.Kind, e.Status, e.Final, e.Input = domain.EntryResult, status, final, nil
	e.Output, e.Decision, e.Failure, e.Usage, e.Log = out, decided, failure, usage, log
	return s.row(to, e)
}

// done adds a completed step that leads to another one.
func (s *story) done(node, to string, from, until time.Duration, output string) *domain.Entry {
	e := domain.Entry{Node: node, Output: domain.RawJSON(output), Input: domain.RawJSON(`{"invoice_id":"INV-20981"}`)}
	if to != "" {
		e.Decision = s.leads(node, to)
	}
	return s.try(e, from, until, domain.NodeCompleted, true)
}

// leads returns the decision with which a step leads to another one.
func (s *story) leads(node, to string) domain.RawJSON {
	d := walk.Decision{To: to}
	for _, e := range s.program.Nodes[s.program.Index[node]].Out {
		id := s.program.Target(e)
		if e.Cond != nil && e.Text != "" && e.Text != "default" {
			d.Evaluated = append(d.Evaluated, walk.Evaluation{To: id, Condition: e.Text, Result: fmt.Sprint(id == to), Saw: "yes"})
		}
		if id == to {
			d.Edge = e.Position + 1
			break
		}
	}
	b, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return b
}

// ends sets the status of the run.
func (s *story) ends(at time.Duration, status domain.RunStatus) {
	s.run.Status = status
	if status.Final() {
		s.run.EndedAt = storyStart.Add(at)
	}
}

// storyServer serves the stories, without any other data.
type storyServer struct {
	web.Reader
	web.Engine
	web.Auth
	runs []*story
}

func (o *storyServer) MustEnrol(context.Context, domain.User) (bool, error) { return false, nil }

func (o *storyServer) Published() int64 { return 0 }

func (o *storyServer) of(id string) (*story, error) {
	i := slices.IndexFunc(o.runs, func(s *story) bool { return strings.HasSuffix(s.run.ID, id) })
	if i < 0 {
		return nil, domain.Errorf(domain.CodeNotFound, "run %s not found", id)
	}
	return o.runs[i], nil
}

func (o *storyServer) FindRun(_ context.Context, id string) (domain.Run, error) {
	s, err := o.of(id)
	if err != nil {
		return domain.Run{}, err
	}
	return s.run, nil
}

func (o *storyServer) Look(ctx context.Context, _ domain.Actor, id string) (domain.RunDetail, func() (domain.Preview, error), error) {
	d, err := o.Detail(ctx, id)
	return d, nil, err
}

func (o *storyServer) Detail(_ context.Context, id string) (domain.RunDetail, error) {
	s, err := o.of(id)
	if err != nil {
		return domain.RunDetail{}, err
	}
	return domain.RunDetail{Run: s.run, Waits: s.waits, Journal: s.journal, Damage: s.damage}, nil
}

func (o *storyServer) Program(_ context.Context, ref domain.ProgramRef) (*walk.Program, error) {
	for _, s := range o.runs {
		if s.program.Hash == ref.Hash {
			return s.program, nil
		}
	}
	return nil, domain.Errorf(domain.CodeNotFound, "no version %s", ref.Hash)
}

// Effects returns the side-effect classes in the plan.
func (o *storyServer) Effects(ctx context.Context, ref domain.ProgramRef) ([]walk.Effect, error) {
	p, err := o.Program(ctx, ref)
	if err != nil {
		return nil, err
	}
	var out []walk.Effect
	for i := range p.Nodes {
		out = append(out, p.Nodes[i].Effect)
	}
	return out, nil
}

// Preview reports that failed steps and steps that did not start would run.
func (o *storyServer) Preview(_ context.Context, _ domain.Actor, req domain.ActionRequest) (domain.Preview, error) {
	s, err := o.of(req.Run)
	if err != nil {
		return domain.Preview{}, err
	}
	p := domain.Preview{Run: s.run.ID, Action: req.Action, Allowed: true, Rev: s.run.LastSeq, Digest: "d",
		PreviewTarget: domain.PreviewTarget{Version: s.run.Version}}
	last := map[string]domain.Entry{}
	for _, e := range s.journal {
		last[e.Node] = e
	}
	for _, n := range s.program.Nodes {
		e, ran := last[n.ID]
		step := domain.PreviewStep{Node: n.ID, Type: n.TypeName, Effect: string(n.Effect), Status: e.Status}
		switch {
		case !ran:
			p.New = append(p.New, step)
		case e.Status == domain.NodeCompleted:
			step.Visit = e.Visit
			p.Keep = append(p.Keep, step)
			continue
		case e.Status == domain.NodeFailed:
			step.Visit, step.Reason = e.Visit, domain.Messagef(domain.ReasonReopened)
			p.Again = append(p.Again, step)
		default:
			continue
		}
		if n.Effect == walk.EffectUnsafe {
			p.Effects = append(p.Effects, step)
		}
	}
	return p, nil
}

func (o *storyServer) Prediction(context.Context, string) ([]domain.Prediction, error) {
	return []domain.Prediction{
		{Answer: "approve", Next: []domain.PreviewStep{{Node: "post", Type: "http"}}},
		{Answer: "reject", Ends: domain.RunCompleted},
	}, nil
}

func (o *storyServer) Runs(context.Context, domain.RunFilter) (domain.List[domain.Run], error) {
	return domain.List[domain.Run]{}, nil
}

func (o *storyServer) RunsCount(context.Context, domain.RunFilter, int) (int, bool, error) {
	return 12, true, nil
}

// PlanFlow reports that there are no earlier runs.
func (o *storyServer) PlanFlow(context.Context, string, int, time.Time) (domain.PlanFlow, error) {
	return domain.PlanFlow{}, nil
}

// FailureGroups reports that the first story's run is one of twelve with the same failure.
func (o *storyServer) FailureGroups(context.Context, int) ([]domain.FailureGroup, error) {
	run := o.runs[0].run
	if run.Error == nil {
		return nil, nil
	}
	return []domain.FailureGroup{
		{
			Plan:   run.Plan(),
			Node:   run.Error.Node,
			Code:   run.Error.Code,
			Runs:   12,
			First:  storyStart.Add(-15 * time.Minute),
			Last:   run.EndedAt,
			Newest: run.ID,
		},
	}, nil
}

func (o *storyServer) FailureOrigin(context.Context, domain.FailureRef) (domain.FailureOrigin, error) {
	return domain.FailureOrigin{
		Version:     14,
		FirstAt:     storyStart.Add(-15 * time.Minute),
		Good:        "01jr8k2mf0s0000000007qwn",
		GoodVersion: 13,
		GoodAt:      storyStart.Add(-30 * time.Minute),
	}, nil
}

func (o *storyServer) FailureAcks(context.Context, time.Time, int) ([]domain.FailureAck, error) {
	return nil, nil
}

func (o *storyServer) AuditEvents(context.Context, domain.AuditFilter) (domain.List[domain.AuditEvent], error) {
	return domain.List[domain.AuditEvent]{}, nil
}

func (o *storyServer) VersionByNumber(_ context.Context, plan string, number int) (domain.Version, error) {
	return domain.Version{PlanID: plan, Number: number, Author: "marta", CreatedAt: storyStart.Add(-20 * time.Minute)}, nil
}

func (o *storyServer) Uses(context.Context, string) ([]domain.Use, error) { return nil, nil }

func (o *storyServer) RunCounts(context.Context) (domain.RunCounts, error) {
	return domain.RunCounts{OpenApprovals: 3}, nil
}

func (o *storyServer) Kept(context.Context, string) (domain.RetainedDigests, error) {
	return domain.RetainedDigests{}, nil
}

func (o *storyServer) Lineage(_ context.Context, id string) ([]domain.Run, error) {
	_, err := o.of(id)
	return nil, err
}

func (o *storyServer) Relatives(_ context.Context, run domain.Run) ([]string, error) {
	_, err := o.of(run.ID)
	return nil, err
}

func (o *storyServer) Conversation(_ context.Context, id string) (domain.Conversation, error) {
	s, err := o.of(id)
	if err != nil {
		return domain.Conversation{}, err
	}
	return domain.Conversation{Messages: s.messages, Handoffs: s.handoffs}, nil
}

func (o *storyServer) Notes(_ context.Context, id string) ([]domain.Note, error) {
	s, err := o.of(id)
	if err != nil || s.run.Status != domain.RunFailed {
		return nil, err
	}
	return []domain.Note{{ID: 1, Run: id, Actor: "marta", Text: "waiting for the quota; resume after 06:00", At: s.run.EndedAt}}, nil
}

func (o *storyServer) Handoffs(_ context.Context, id string) ([]domain.Handoff, error) {
	s, err := o.of(id)
	if err != nil {
		return nil, err
	}
	return s.handoffs, nil
}

func (o *storyServer) Approvals(_ context.Context, f domain.ApprovalFilter) (domain.List[domain.Approval], error) {
	s, err := o.of(f.Run)
	if err != nil {
		return domain.List[domain.Approval]{}, err
	}
	return domain.List[domain.Approval]{Items: s.approval}, nil
}

func (o *storyServer) Plan(context.Context, string) (domain.Plan, error) {
	return domain.Plan{ID: "p1", Key: "invoice-triage", Latest: 15}, nil
}

func (o *storyServer) JournalPage(_ context.Context, id string, after int64, limit int) ([]domain.Entry, error) {
	s, err := o.of(id)
	if err != nil {
		return nil, err
	}
	rows := s.journal[min(int(after), len(s.journal)):]
	if limit > 0 {
		rows = rows[:min(limit, len(rows))]
	}
	return rows, nil
}

func (o *storyServer) Session(context.Context, string) (domain.User, error) {
	return domain.User{ID: "u1", Name: "marta", Role: domain.RoleAdmin}, nil
}

// stories implements the part of the store that pages read through package app.
type stories struct {
	app.Store
	server *storyServer
}

func (s stories) FindRun(ctx context.Context, id string) (domain.Run, error) {
	return s.server.FindRun(ctx, id)
}

func (s stories) Approvals(ctx context.Context, f domain.ApprovalFilter) (domain.List[domain.Approval], error) {
	return s.server.Approvals(ctx, f)
}

func (s stories) Notes(ctx context.Context, run string) ([]domain.Note, error) {
	return s.server.Notes(ctx, run)
}

func (s stories) AuditEvents(ctx context.Context, f domain.AuditFilter) (domain.List[domain.AuditEvent], error) {
	return s.server.AuditEvents(ctx, f)
}

func (s stories) FailureGroups(ctx context.Context, limit int) ([]domain.FailureGroup, error) {
	return s.server.FailureGroups(ctx, limit)
}

func (s stories) FailureOrigin(ctx context.Context, ref domain.FailureRef) (domain.FailureOrigin, error) {
	return s.server.FailureOrigin(ctx, ref)
}

func (s stories) FailureAcks(ctx context.Context, since time.Time, limit int) ([]domain.FailureAck, error) {
	return s.server.FailureAcks(ctx, since, limit)
}

// serve returns the dashboard for a user with a session.
func (o *storyServer) serve(tb testing.TB) http.Handler {
	tb.Helper()
	tools, err := tool.NewBox(tb.Context(), tool.BoxOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	site, err := web.New(
		web.Config{
			App: app.New(
				app.Config{
					Store:    stories{server: o},
					Engine:   new(engine.Engine),
					Auth:     new(auth.Service),
					Bulk:     new(bulk.Service),
					Drafts:   new(draft.Service),
					Planner:  new(planning.Service),
					Checker:  new(store.AuditChecker),
					Tools:    func() *tool.Box { return tools },
					Server:   app.NoServer{},
					Settings: app.NoServer{},
				},
			),
			Reader:    o,
			Engine:    o,
			Auth:      o,
			TwoPeople: func() bool { return false },
			People:    func(context.Context, string) ([]string, error) { return nil, nil },
			Version:   "0.9.2",
			Now:       func() time.Time { return morning },
		},
	)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(site.Close)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.AddCookie(&http.Cookie{Name: "kairos", Value: "s"})
		site.ServeHTTP(w, r)
	})
}

// encoded returns a text as JSON.
func encoded(text string) domain.RawJSON {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return b
}
