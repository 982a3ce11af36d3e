package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web"
)

// epoch is when all told runs began, morning when their pages are looked at.
var (
	epoch   = time.Date(2026, 3, 9, 1, 43, 32, 0, time.UTC)
	morning = time.Date(2026, 3, 9, 2, 1, 0, 0, time.UTC)
)

// story is a run whose every moment is known, so that its page is always the
// same: a plan, a journal, and what the engine would say of them.
type story struct {
	run      kairos.Run
	program  *planner.Program
	journal  []kairos.Entry
	waits    []kairos.Wait
	handoffs []kairos.Handoff
	messages []kairos.Message
	related  []kairos.Run
	approval []kairos.Approval
	damage   *kairos.Damage
}

// tell begins the story of a run.
func tell(tb testing.TB, id, src string) *story {
	tb.Helper()
	doc, problems := planner.Parse([]byte(src), planner.FormatYAML)
	if doc == nil {
		tb.Fatal(problems)
	}
	p, err := doc.Program(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return &story{program: p, run: kairos.Run{ID: id, PlanID: "p1", PlanKey: p.ID, Version: 14, Hash: p.Hash, Status: kairos.RunRunning, Actor: "schedule 0 2 * * *",
		Input: kairos.RawJSON(`{"invoice_id":"INV-20981","currency":"EUR"}`), CreatedAt: epoch, StartedAt: epoch}}
}

// row adds a journal row; what is left out is filled in.
func (s *story) row(at time.Duration, e kairos.Entry) *kairos.Entry {
	e.Seq, e.At = int64(len(s.journal)+1), epoch.Add(at)
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

// try adds an attempt of a node, which ends in a status; "": it still runs.
func (s *story) try(e kairos.Entry, from, to time.Duration, status kairos.NodeStatus, final bool) *kairos.Entry {
	e.StartedAt = epoch.Add(from)
	if e.Item == 0 {
		e.Item = -1
	}
	out, decided, failure, usage, log := e.Output, e.Decision, e.Failure, e.Usage, e.Log
	begun := e
	begun.Kind, begun.Status, begun.Output, begun.Decision, begun.Failure, begun.Usage, begun.Log = kairos.EntryIntent, kairos.NodeRunning, nil, nil, nil, kairos.Usage{}, nil
	row := s.row(from, begun)
	if status == "" {
		return row
	}
	e.Kind, e.Status, e.Final, e.Input = kairos.EntryResult, status, final, nil
	e.Output, e.Decision, e.Failure, e.Usage, e.Log = out, decided, failure, usage, log
	return s.row(to, e)
}

// done adds a node that went well and led to another.
func (s *story) done(node, to string, from, until time.Duration, output string) *kairos.Entry {
	e := kairos.Entry{Node: node, Output: kairos.RawJSON(output), Input: kairos.RawJSON(`{"invoice_id":"INV-20981"}`)}
	if to != "" {
		e.Decision = s.leads(node, to)
	}
	return s.try(e, from, until, kairos.NodeCompleted, true)
}

// leads is the decision by which a node led to another.
func (s *story) leads(node, to string) kairos.RawJSON {
	d := planner.Decision{To: to}
	for _, e := range s.program.Nodes[s.program.Index[node]].Out {
		id := s.program.Nodes[e.To].ID
		if e.Cond != nil && e.Text != "" && e.Text != "default" {
			d.Evaluated = append(d.Evaluated, planner.Evaluation{To: id, Condition: e.Text, Result: fmt.Sprint(id == to), Saw: "yes"})
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

// ends closes the run.
func (s *story) ends(at time.Duration, status kairos.RunStatus) {
	s.run.Status = status
	if status.Final() {
		s.run.EndedAt = epoch.Add(at)
	}
}

// told serves stories as an installation with nothing else in it.
type told struct {
	web.Reader
	web.Engine
	web.Auth
	runs []*story
}

func (o *told) MustEnrol(context.Context, kairos.User) (bool, error) { return false, nil }

func (o *told) Heard() int64 { return 0 }

func (o *told) of(id string) (*story, error) {
	i := slices.IndexFunc(o.runs, func(s *story) bool { return strings.HasSuffix(s.run.ID, id) })
	if i < 0 {
		return nil, kairos.Errorf(kairos.CodeNotFound, "no run %s", id)
	}
	return o.runs[i], nil
}

func (o *told) FindRun(_ context.Context, id string) (kairos.Run, error) {
	s, err := o.of(id)
	if err != nil {
		return kairos.Run{}, err
	}
	return s.run, nil
}

func (o *told) Detail(_ context.Context, id string) (kairos.RunDetail, error) {
	s, err := o.of(id)
	if err != nil {
		return kairos.RunDetail{}, err
	}
	return kairos.RunDetail{Run: s.run, Waits: s.waits, Journal: s.journal, Damage: s.damage}, nil
}

func (o *told) Program(_ context.Context, hash string) (*planner.Program, error) {
	for _, s := range o.runs {
		if s.program.Hash == hash {
			return s.program, nil
		}
	}
	return nil, kairos.Errorf(kairos.CodeNotFound, "no version %s", hash)
}

// Effects are what the nodes say.
func (o *told) Effects(ctx context.Context, hash string) ([]planner.Effect, error) {
	p, err := o.Program(ctx, hash)
	if err != nil {
		return nil, err
	}
	var out []planner.Effect
	for i := range p.Nodes {
		out = append(out, p.Nodes[i].Effect)
	}
	return out, nil
}

// Preview says that what failed and what never ran would run.
func (o *told) Preview(_ context.Context, _ kairos.Actor, req kairos.VerbRequest) (kairos.Preview, error) {
	s, err := o.of(req.Run)
	if err != nil {
		return kairos.Preview{}, err
	}
	p := kairos.Preview{Run: s.run.ID, Action: req.Action, Allowed: true, Rev: s.run.LastSeq, Digest: "d", Version: s.run.Version}
	last := map[string]kairos.Entry{}
	for _, e := range s.journal {
		last[e.Node] = e
	}
	for _, n := range s.program.Nodes {
		e, ran := last[n.ID]
		step := kairos.PreviewStep{Node: n.ID, Type: n.TypeName, Effect: string(n.Effect), Status: e.Status}
		switch {
		case !ran:
			p.New = append(p.New, step)
		case e.Status == kairos.NodeCompleted:
			step.Visit = e.Visit
			p.Keep = append(p.Keep, step)
			continue
		case e.Status == kairos.NodeFailed:
			step.Visit, step.Reason = e.Visit, "it failed or was cancelled"
			p.Again = append(p.Again, step)
		default:
			continue
		}
		if n.Effect == planner.EffectUnsafe {
			p.Effects = append(p.Effects, step)
		}
	}
	return p, nil
}

func (o *told) Forecast(context.Context, string) ([]kairos.Forecast, error) {
	return []kairos.Forecast{{Answer: "approve", Next: []kairos.PreviewStep{{Node: "post", Type: "http"}}}, {Answer: "reject", Ends: kairos.RunCompleted}}, nil
}

func (o *told) Runs(context.Context, kairos.RunFilter) (kairos.List[kairos.Run], error) {
	return kairos.List[kairos.Run]{}, nil
}

func (o *told) RunsCount(context.Context, kairos.RunFilter, int) (int, bool, error) {
	return 12, true, nil
}

// PlanFlow knows of no runs before.
func (o *told) PlanFlow(context.Context, string, int, time.Time) (kairos.PlanFlow, error) {
	return kairos.PlanFlow{}, nil
}

// FailureGroups says that the first told run's failure is one of twelve.
func (o *told) FailureGroups(context.Context, int) ([]kairos.FailureGroup, error) {
	run := o.runs[0].run
	if run.Error == nil {
		return nil, nil
	}
	return []kairos.FailureGroup{{PlanID: run.PlanID, PlanKey: run.PlanKey, Node: run.Error.Node, Code: run.Error.Code, Runs: 12, First: epoch.Add(-15 * time.Minute), Last: run.EndedAt, Newest: run.ID}}, nil
}

func (o *told) FailureOrigin(context.Context, kairos.FailureRef) (kairos.FailureOrigin, error) {
	return kairos.FailureOrigin{Version: 14, FirstAt: epoch.Add(-15 * time.Minute), Good: "01jr8k2mf0s0000000007qwn", GoodVersion: 13, GoodAt: epoch.Add(-30 * time.Minute)}, nil
}

func (o *told) FailureAcks(context.Context, time.Time, int) ([]kairos.FailureAck, error) {
	return nil, nil
}

func (o *told) AuditEvents(context.Context, kairos.AuditFilter) (kairos.List[kairos.AuditEvent], error) {
	return kairos.List[kairos.AuditEvent]{}, nil
}

func (o *told) VersionByNumber(_ context.Context, plan string, number int) (kairos.Version, error) {
	return kairos.Version{PlanID: plan, Number: number, Author: "marta", CreatedAt: epoch.Add(-20 * time.Minute)}, nil
}

func (o *told) RunCounts(context.Context) (kairos.RunCounts, error) {
	return kairos.RunCounts{OpenApprovals: 3}, nil
}

func (o *told) Kept(context.Context, string) (kairos.KeptDigests, error) {
	return kairos.KeptDigests{}, nil
}

func (o *told) Lineage(_ context.Context, id string) ([]kairos.Run, error) {
	s, err := o.of(id)
	if err != nil {
		return nil, err
	}
	return s.related, nil
}

func (o *told) Conversation(_ context.Context, id string) (kairos.Conversation, error) {
	s, err := o.of(id)
	if err != nil {
		return kairos.Conversation{}, err
	}
	return kairos.Conversation{Messages: s.messages, Handoffs: s.handoffs}, nil
}

func (o *told) Notes(_ context.Context, id string) ([]kairos.Note, error) {
	s, err := o.of(id)
	if err != nil || s.run.Status != kairos.RunFailed {
		return nil, err
	}
	return []kairos.Note{{ID: 1, Run: id, Actor: "marta", Text: "waiting for the quota; resume after 06:00", At: s.run.EndedAt}}, nil
}

func (o *told) Handoffs(_ context.Context, id string) ([]kairos.Handoff, error) {
	s, err := o.of(id)
	if err != nil {
		return nil, err
	}
	return s.handoffs, nil
}

func (o *told) Approvals(_ context.Context, f kairos.ApprovalFilter) (kairos.List[kairos.Approval], error) {
	s, err := o.of(f.Run)
	if err != nil {
		return kairos.List[kairos.Approval]{}, err
	}
	return kairos.List[kairos.Approval]{Items: s.approval}, nil
}

func (o *told) Plan(context.Context, string) (kairos.Plan, error) {
	return kairos.Plan{ID: "p1", Key: "invoice-triage", Latest: 15}, nil
}

func (o *told) JournalPage(_ context.Context, id string, after int64, limit int) ([]kairos.Entry, error) {
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

func (o *told) Session(context.Context, string) (kairos.User, error) {
	return kairos.User{ID: "u1", Name: "marta", Role: kairos.RoleAdmin}, nil
}

// serve is the dashboard over stories, for a user who is logged in.
func (o *told) serve(tb testing.TB) http.Handler {
	tb.Helper()
	site, err := web.New(web.Config{Reader: o, Engine: o, Auth: o, Version: "0.9.2", Now: func() time.Time { return morning }})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(site.Close)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.AddCookie(&http.Cookie{Name: "kairos", Value: "s"})
		site.ServeHTTP(w, r)
	})
}

// encoded is a text as JSON.
func encoded(text string) kairos.RawJSON {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return b
}
