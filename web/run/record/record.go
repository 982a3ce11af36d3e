// Package record is a run as its pages read it: its row, journal, plan, and steps.
package record

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"
)

// Record is a run as its pages read it. Each part of a page is a type of its own that
// shows some of it.
type Record struct {
	*Request
	past
	Detail  domain.RunDetail
	Program *walk.Program
	Effects []walk.Effect // what its nodes may do
	Steps   []*Step
	Tab     tab // which the address names
	Chosen  *Step
	Node    string // chosen, when it has no step

	Preview func() (domain.Preview, error) // of a resume; computed once
	never   []string                       // nodes without a step
	byNode  map[string][]*Step
	into    map[int][]string // sources of the edges to a node
	front   map[int]bool     // nodes that the run may still come to
}

// Open reads a run, and chooses what its page shows of it.
func (r *Request) Open(id string) (*Record, error) {
	d, resume, err := r.Engine.Look(r.Context, r.Who.Actor(), id)
	if err != nil {
		return nil, err
	}
	program, err := r.Engine.Program(r.Context, d.Run.Hash)
	if err != nil {
		return nil, err
	}
	effects, err := r.Engine.Effects(r.Context, d.Run.Hash)
	if err != nil {
		return nil, err
	}
	if resume == nil {
		resume = func() (domain.Preview, error) {
			return r.Engine.Preview(r.Context, r.Who.Actor(), domain.ActionRequest{Run: id, Action: domain.ActionResume})
		}
	}
	b := &Record{Request: r, past: r.past(d.Run), Detail: d, Program: program, Effects: effects, Preview: sync.OnceValues(resume),
		Steps: StepsOf(d.Run, d.Journal)}
	b.settleLost()
	b.Tab = tabNamed(r.Query("view"))
	b.Chosen = b.choose()
	return b, nil
}

// Refresh is how a part of the page that follows events asks for itself.
func (b *Record) Refresh() Refresh {
	return Refresh{Topic: "run-" + b.Detail.Run.ID, Address: b.Href(nil)}
}

// Resumable reports whether the run has ended so that it may be resumed, and the reader
// may do it.
func (b *Record) Resumable() bool {
	run := b.Detail.Run
	return b.Detail.Damage == nil && b.Who.Role.Includes(domain.RoleOperator) &&
		(run.Status == domain.RunFailed && run.Error != nil || run.Status == domain.RunCancelled && run.PurgedAt.IsZero())
}

// Resume is what resuming would do; nil where that is not allowed.
func (b *Record) Resume() *domain.Preview {
	if !b.Resumable() {
		return nil
	}
	pre, err := b.Preview()
	if err != nil || !pre.Allowed { // the head of the page reports why
		return nil
	}
	return &pre
}

// Hopeless reports whether a resume is refused, so that only a fork or a new run helps.
func (b *Record) Hopeless() bool {
	if !b.Resumable() {
		return false
	}
	pre, err := b.Preview()
	return err == nil && !pre.Allowed
}

// Href is this page with some parameters changed.
func (b *Record) Href(set url.Values) string { return part.At(b.Context, b.Detail.Run.ID, set) }

// StepAt is the step that a journal row belongs to; else the last of its node.
func (b *Record) StepAt(seq int64, node string) *Step {
	if seq > 0 && seq <= int64(len(b.Detail.Journal)) {
		e := &b.Detail.Journal[seq-1]
		for _, st := range b.Steps {
			if st.key() == (VisitKey{e.Node, e.Visit, e.Item}) {
				return st
			}
		}
	}
	for _, st := range slices.Backward(b.Steps) {
		if st.Node == node {
			return st
		}
	}
	return nil
}

// StepOf finds the step that a row number is of.
func (b *Record) StepOf(number string) (*Step, error) {
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil || seq < 1 || seq > int64(len(b.Detail.Journal)) {
		return nil, domain.Errorf(domain.CodeNotFound, "run %s has no step %s", domain.ShortID(b.Detail.Run.ID), kit.Cut(number, 40))
	}
	e := &b.Detail.Journal[seq-1]
	for _, st := range b.Steps {
		if st.key() == (VisitKey{e.Node, e.Visit, e.Item}) {
			return st, nil
		}
	}
	return nil, domain.Errorf(domain.CodeNotFound, "row %d of run %s is of no step", seq, domain.ShortID(b.Detail.Run.ID))
}

func (b *Record) StepLink(st *Step) kit.Link {
	return kit.Link{
		Text: st.Label(),
		Href: b.Href(url.Values{"view": {"timeline"}, "step": {strconv.FormatInt(st.Seq, 10)}, "handoff": nil}) + "#inspector",
	}
}

// ValueOf shows a value of a journal row, with ways to the rest of it.
func (b *Record) ValueOf(id, title string, j domain.RawJSON, seq int64, part string) kit.Block {
	v := b.Reading().Block(id, title, j, fmt.Sprintf("/runs/%s/raw/%d/%s", b.Detail.Run.ID, seq, part))
	if v.Note != "" {
		page := fmt.Sprintf("/runs/%s/steps/%d?part=%s", b.Detail.Run.ID, seq, part)
		v.More = []kit.Link{{Text: b.T("Show more"), Href: page}, {Text: b.T("Show the end"), Href: page + "&from=end"}}
	}
	return v
}

// Reading is how this page's address reports that values are read.
func (b *Record) Reading() value.Reading {
	nth, err := strconv.Atoi(b.Query("nth"))
	if err != nil || nth < 0 {
		nth = 0
	}
	return value.Reading{
		Lang: b.Display.Lang,
		Find: strings.TrimSpace(b.Query("find")),
		Into: b.Query("into"),
		Nth:  nth,
		Href: func(set url.Values) string {
			if b.Tab.Steps {
				return b.Href(set) + "#inspector"
			}
			return b.Href(set)
		},
	}
}

// FindForm looks for a text in values; nil when there is nothing to look into.
func (b *Record) FindForm(blocks []kit.Block) *kit.FindForm {
	f := &kit.FindForm{Action: "/runs/" + b.Detail.Run.ID, Find: strings.TrimSpace(b.Query("find")), Clear: b.Href(url.Values{"find": nil})}
	n, lines := 0, 0
	for _, k := range blocks {
		if k.JSON != nil {
			lines += k.Lines
			n += k.Found
		}
	}
	if lines < findFrom && f.Find == "" {
		return nil
	}
	f.Hits = b.N(n, "Found %s time.", "Found %s times.")
	for _, key := range part.Kept {
		if v := b.Query(key); v != "" && key != "find" && key != "into" && key != "nth" {
			f.Kept = append(f.Kept, kit.Field{Name: key, Value: v})
		}
	}
	return f
}

// findFrom is from how many lines of values on one looks for a text in them.
const findFrom = 12

// WayHere is the way to the page of the run.
func (b *Record) WayHere() []kit.Link {
	run := b.Detail.Run
	return []kit.Link{
		{Text: b.T("Runs"), Href: "/runs"},
		{Text: run.PlanKey, Href: "/plans/" + url.PathEscape(run.PlanKey)},
		{Text: domain.ShortID(run.ID), Href: "/runs/" + run.ID, Class: "m"},
	}
}

// Refresh is how a part of the page that follows events asks for itself.
type Refresh struct{ Topic, Address string }
