package run

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

// record is a run as its pages read it. Each part of a page is a type of its own that
// shows some of it.
type record struct {
	*request
	past
	d       domain.RunDetail
	program *walk.Program
	effects []walk.Effect // what its nodes may do
	steps   []*step
	tab     tab // which the address names
	chosen  *step
	node    string // chosen, when it has no step

	preview func() (domain.Preview, error) // of a resume; computed once
	never   []string                       // nodes without a step
	byNode  map[string][]*step
	into    map[int][]string // sources of the edges to a node
	front   map[int]bool     // nodes that the run may still come to
}

// open reads a run, and chooses what its page shows of it.
func (r *request) open(id string) (*record, error) {
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
	b := &record{request: r, past: r.past(d.Run), d: d, program: program, effects: effects, preview: sync.OnceValues(resume),
		steps: stepsOf(d.Run, d.Journal)}
	b.settleLost()
	b.tab = tabNamed(r.Query("view"))
	b.chosen = b.choose()
	return b, nil
}

// refresh is how a part of the page that follows events asks for itself.
func (b *record) refresh() Refresh {
	return Refresh{Topic: "run-" + b.d.Run.ID, Address: b.href(nil)}
}

// resumable reports whether the run has ended so that it may be resumed, and the reader
// may do it.
func (b *record) resumable() bool {
	run := b.d.Run
	return b.d.Damage == nil && b.Who.Role.Includes(domain.RoleOperator) &&
		(run.Status == domain.RunFailed && run.Error != nil || run.Status == domain.RunCancelled && run.PurgedAt.IsZero())
}

// resume is what resuming would do; nil where that is not allowed.
func (b *record) resume() *domain.Preview {
	if !b.resumable() {
		return nil
	}
	pre, err := b.preview()
	if err != nil || !pre.Allowed { // the head of the page reports why
		return nil
	}
	return &pre
}

// hopeless reports whether a resume is refused, so that only a fork or a new run helps.
func (b *record) hopeless() bool {
	if !b.resumable() {
		return false
	}
	pre, err := b.preview()
	return err == nil && !pre.Allowed
}

// href is this page with some parameters changed.
func (b *record) href(set url.Values) string { return part.At(b.Context, b.d.Run.ID, set) }

// stepAt is the step that a journal row belongs to; else the last of its node.
func (b *record) stepAt(seq int64, node string) *step {
	if seq > 0 && seq <= int64(len(b.d.Journal)) {
		e := &b.d.Journal[seq-1]
		for _, st := range b.steps {
			if st.key() == (visitKey{e.Node, e.Visit, e.Item}) {
				return st
			}
		}
	}
	for _, st := range slices.Backward(b.steps) {
		if st.node == node {
			return st
		}
	}
	return nil
}

// stepOf finds the step that a row number is of.
func (b *record) stepOf(number string) (*step, error) {
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil || seq < 1 || seq > int64(len(b.d.Journal)) {
		return nil, domain.Errorf(domain.CodeNotFound, "run %s has no step %s", domain.ShortID(b.d.Run.ID), kit.Cut(number, 40))
	}
	e := &b.d.Journal[seq-1]
	for _, st := range b.steps {
		if st.key() == (visitKey{e.Node, e.Visit, e.Item}) {
			return st, nil
		}
	}
	return nil, domain.Errorf(domain.CodeNotFound, "row %d of run %s is of no step", seq, domain.ShortID(b.d.Run.ID))
}

func (b *record) stepLink(st *step) kit.Link {
	return kit.Link{
		Text: st.label(),
		Href: b.href(url.Values{"view": {"timeline"}, "step": {strconv.FormatInt(st.seq, 10)}, "handoff": nil}) + "#inspector",
	}
}

// value shows a value of a journal row, with ways to the rest of it.
func (b *record) value(id, title string, j domain.RawJSON, seq int64, part string) kit.Block {
	v := b.reading().Block(id, title, j, fmt.Sprintf("/runs/%s/raw/%d/%s", b.d.Run.ID, seq, part))
	if v.Note != "" {
		page := fmt.Sprintf("/runs/%s/steps/%d?part=%s", b.d.Run.ID, seq, part)
		v.More = []kit.Link{{Text: b.T("Show more"), Href: page}, {Text: b.T("Show the end"), Href: page + "&from=end"}}
	}
	return v
}

// reading is how this page's address reports that values are read.
func (b *record) reading() value.Reading {
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
			if b.tab.steps {
				return b.href(set) + "#inspector"
			}
			return b.href(set)
		},
	}
}

// findForm looks for a text in values; nil when there is nothing to look into.
func (b *record) findForm(blocks []kit.Block) *kit.FindForm {
	f := &kit.FindForm{Action: "/runs/" + b.d.Run.ID, Find: strings.TrimSpace(b.Query("find")), Clear: b.href(url.Values{"find": nil})}
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

// wayHere is the way to the page of the run.
func (b *record) wayHere() []kit.Link {
	run := b.d.Run
	return []kit.Link{
		{Text: b.T("Runs"), Href: "/runs"},
		{Text: run.PlanKey, Href: "/plans/" + url.PathEscape(run.PlanKey)},
		{Text: domain.ShortID(run.ID), Href: "/runs/" + run.ID, Class: "m"},
	}
}

// Refresh is how a part of the page that follows events asks for itself.
type Refresh struct{ Topic, Address string }
