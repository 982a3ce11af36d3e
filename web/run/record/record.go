// Package record reads a run for its pages: its row, journal, plan, and steps.
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

// Record is a run as its pages read it. The types that build the parts of a page embed it.
type Record struct {
	*Request
	past
	Detail  domain.RunDetail
	Program *walk.Program
	Effects []walk.Effect // side-effect classes of the steps
	Steps   []*Step
	Tab     tab // selected by the address
	Chosen  *Step
	Node    string // selected step if it did not start

	Preview func() (domain.Preview, error) // preview of a resume, computed once
	never   []string                       // steps that did not start
	byNode  map[string][]*Step
	into    map[int][]string // ids of the steps with an edge to each step
	front   map[int]bool     // steps that the run may still reach
}

// Open reads a run, and selects the view and the step of its page.
func (r *Request) Open(id string) (*Record, error) {
	d, resume, err := r.Engine.Look(r.Context, r.Principal.Actor(), id)
	if err != nil {
		return nil, err
	}
	program, err := r.Engine.Program(r.Context, d.Run.ProgramRef)
	if err != nil {
		return nil, err
	}
	effects, err := r.Engine.Effects(r.Context, d.Run.ProgramRef)
	if err != nil {
		return nil, err
	}
	if resume == nil {
		resume = func() (domain.Preview, error) {
			return r.Engine.Preview(r.Context, r.Principal.Actor(), domain.ActionRequest{Run: id, Action: domain.ActionResume})
		}
	}
	b := &Record{Request: r, past: r.past(d.Run), Detail: d, Program: program, Effects: effects, Preview: sync.OnceValues(resume),
		Steps: StepsOf(d.Run, d.Journal)}
	b.settleLost()
	b.Tab = tabNamed(r.Query("view"))
	b.Chosen = b.choose()
	return b, nil
}

// Refresh returns how a live region of the page is updated.
func (b *Record) Refresh() Refresh {
	return Refresh{Topic: "run-" + b.Detail.Run.ID, Address: b.Href(nil)}
}

// Resumable reports whether the run has failed or was cancelled, and the user may resume it.
func (b *Record) Resumable() bool {
	run := b.Detail.Run
	return b.Detail.Damage == nil && b.Principal.Role.Includes(domain.RoleOperator) &&
		(run.Status == domain.RunFailed && run.Error != nil || run.Status == domain.RunCancelled && run.PurgedAt.IsZero())
}

// Resume returns the preview of a resume, or nil if it is not possible.
func (b *Record) Resume() *domain.Preview {
	if !b.Resumable() {
		return nil
	}
	pre, err := b.Preview()
	if err != nil || !pre.Allowed { // the head of the page shows the reason
		return nil
	}
	return &pre
}

// Hopeless reports whether a resume would be refused, so that only a fork or a new run helps.
func (b *Record) Hopeless() bool {
	if !b.Resumable() {
		return false
	}
	pre, err := b.Preview()
	return err == nil && !pre.Allowed
}

// Href returns the address of this page with some parameters changed.
func (b *Record) Href(set url.Values) string { return part.At(b.Context, b.Detail.Run.ID, set) }

// StepAt returns the step of a journal row, or the last execution of a step if the row has none.
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

// StepOf returns the step of a journal row, or an error of code not_found.
func (b *Record) StepOf(number string) (*Step, error) {
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil || seq < 1 || seq > int64(len(b.Detail.Journal)) {
		return nil, domain.Errorf(domain.CodeNotFound, "run %s has no step %s", domain.ShortID(b.Detail.Run.ID), kit.Truncate(number, 40))
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

// ValueOf shows a value of a journal row, with links to the rest of a long value.
func (b *Record) ValueOf(id, title string, j domain.RawJSON, seq int64, part string) kit.Block {
	v := b.Reading().Block(id, title, j, fmt.Sprintf("/runs/%s/raw/%d/%s", b.Detail.Run.ID, seq, part))
	if v.Note != "" {
		page := fmt.Sprintf("/runs/%s/steps/%d?part=%s", b.Detail.Run.ID, seq, part)
		v.More = []kit.Link{{Text: b.T("Show more"), Href: page}, {Text: b.T("Show the end"), Href: page + "&from=end"}}
	}
	return v
}

// Reading returns the part and the search text that the address selects.
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

// FindForm returns the form that searches the values, or nil if they are short.
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

// findFrom is the minimum number of lines for which the search form is shown.
const findFrom = 12

// WayHere returns the breadcrumb of the run's page.
func (b *Record) WayHere() []kit.Link {
	return part.Crumbs(b.Context, b.Detail.Run)
}

// Refresh contains the event topic and the address with which a live region is updated.
type Refresh struct{ Topic, Address string }
