// Package events contains the events view of a run.
package events

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/event"
	"github.com/kairosd/kairosd/web/run/record"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// pageEvents is the number of rows of a page.
	pageEvents = 500
	// manyActs is the approximate maximum number of events that are read from the audit log.
	manyActs = 1000
)

// Kinds of events from the audit log, which are not in the journal: other actions of users, and
// status changes.
const (
	eventAction = "act"
	eventStatus = "status"
)

// eventKinds are the kinds of events in the order of their links, with their labels.
var eventKinds = []struct{ kind, word string }{
	{string(domain.EntryIntent), locale.Mark("started")},
	{string(domain.EntryResult), locale.Mark("ended")},
	{string(domain.EntryWait), locale.Mark("waits")},
	{string(domain.EntryResolve), locale.Mark("answers")},
	{string(domain.EntrySubstep), locale.Mark("calls")},
	{string(domain.EntryReset), locale.Mark("resumed")},
	{string(domain.EntryReplan), locale.Mark("replanned")},
	{string(domain.EntryAction), locale.Mark("about the run")},
	{eventAction, locale.Mark("actions")},
	{eventStatus, locale.Mark("states")},
}

// eventWords are the labels of events, by the action of a journal row, or of an audit event without
// "run.". An event without a label is shown by its code.
var eventWords = map[string]string{
	"pause": locale.Mark(
		"paused",
	), "unpause": locale.Mark("continued"), "cancel": locale.Mark("cancellation requested"), "retry-now": locale.Mark("retried at once"),
	"release": locale.Mark(
		"released",
	), "start-now": locale.Mark("started at once"), "limits": locale.Mark("limits changed"),
	"budget": locale.Mark("limit reached"), "budget-retry": locale.Mark("limits checked again"),
	"timeout": locale.Mark("timed out"), "crash": locale.Mark("kairosd crashed"),
	"quarantine": locale.Mark(
		"waiting for budget",
	), "stop": locale.Mark("kairosd was stopped"), "plans": locale.Mark("plans fixed"), "memory": locale.Mark("memory read"),
	"resume-options": locale.Mark(
		"options of a resume",
	), "created": locale.Mark("created"), "resume": locale.Mark("resumed"), "fork": locale.Mark("forked"),
	"rerun": locale.Mark(
		"rerun",
	), "delete": locale.Mark("deleted"), "undo": locale.Mark("undone"), "acknowledge": locale.Mark("acknowledged"),
	"unacknowledge": locale.Mark("acknowledgment withdrawn"),
	"note":          locale.Mark("note"), "label": locale.Mark("labelled"), "export": locale.Mark("exported"),
	"happened": locale.Mark(
		"it happened",
	), "given": locale.Mark("result given"), "retry": locale.Mark("run again"), "skip": locale.Mark("skipped"),
	"fail": locale.Mark("marked as failed by a user"),
	"late": locale.Mark(
		"late result",
	), "child": locale.Mark("child run ended"), "due": locale.Mark("time is up"), "changes_requested": locale.Mark("changes requested"),
	"approved": locale.Mark("approved"), "rejected": locale.Mark("rejected"), "approval.assign": locale.Mark("assigned to a person"),
	string(domain.EntryIntent): locale.Mark(
		"started",
	), string(domain.EntryWait): locale.Mark("waits"), string(domain.EntryResolve): locale.Mark("answered"),
	string(domain.EntryReset): locale.Mark("resumed"), string(domain.EntryReplan): locale.Mark("replanned"),
}

// runEvent is a journal row or an audit event.
type runEvent struct {
	kind   string
	entry  *domain.Entry
	action *domain.AuditEvent
}

// Part builds the events view.
type Part struct {
	*record.Record
	audited []domain.AuditEvent // audit events of the run, or nil before they are read
}

// New returns the view of a run. It reads the audit log at most once.
func New(b *record.Record) *Part { return &Part{Record: b} }

// Events returns a page of the run's events in order: journal rows, other actions, and status
// changes, filtered by kind.
func (b *Part) Events() (*Events, error) {
	acts, err := b.actions()
	if err != nil {
		return nil, err
	}
	all := mergeEvents(b.Detail.Journal, acts)
	v := &Events{Audit: kit.Link{Text: b.T("In the audit log"), Href: link.List("/audit", "run:"+filter.Quote(b.Detail.Run.ID))}}
	kind := b.Query("kinds")
	count := map[string]int{}
	var shown []runEvent
	for _, e := range all {
		count[e.kind]++
		if kind == "" || e.kind == kind {
			shown = append(shown, e)
		}
	}
	link := func(text, kind string, n int, current bool) {
		set := url.Values{"kinds": {kind}, "rows": nil}
		if kind == "" {
			set["kinds"] = nil
		}
		v.Kinds = append(v.Kinds, kit.Link{Text: text, Count: b.Number(int64(n)), Href: b.Href(set), Current: current})
	}
	link(b.T("All"), "", len(all), kind == "")
	for _, k := range eventKinds {
		if count[k.kind] > 0 {
			link(b.T(k.word), k.kind, count[k.kind], kind == k.kind)
		}
	}
	from, to, pages := ui.RowPage(b.Context, len(shown), pageEvents, 0, b.Href)
	for _, e := range shown[from:to] {
		if e.entry != nil {
			v.Rows = append(v.Rows, b.event(e.entry))
		} else {
			v.Rows = append(v.Rows, b.actionEvent(e.action))
		}
	}
	v.Pages = pages
	v.Pages.Swaps = true
	return v, nil
}

// manyRows is the number of journal rows above which other views do not count the events exactly.
const manyRows = 500

// Count returns the number of events as text. For a large journal, other views show a lower bound,
// because counting takes longer than rendering the page.
func (b *Part) Count() string {
	if b.Tab.ID != "events" && len(b.Detail.Journal) > manyRows {
		return b.Number(int64(len(b.Detail.Journal))) + "+"
	}
	acts, err := b.actions()
	if err != nil { // the page is still useful without the count
		b.Site.Logger.Error("count the events of a run", "run_id", b.Detail.Run.ID, "err", err)
		return ""
	}
	return b.Number(int64(len(mergeEvents(b.Detail.Journal, acts))))
}

// actions returns the newest audit events of the run except checkpoints, oldest first. It reads
// them once.
func (b *Part) actions() ([]domain.AuditEvent, error) {
	if b.audited == nil {
		acts, err := b.readActions()
		if err != nil {
			return nil, err
		}
		b.audited = append([]domain.AuditEvent{}, acts...)
	}
	return b.audited, nil
}

func (b *Part) readActions() ([]domain.AuditEvent, error) {
	var out []domain.AuditEvent
	f := domain.AuditFilter{Run: b.Detail.Run.ID, Exclude: domain.AuditExclusion{Actions: []string{"checkpoint"}},
		Page: domain.Page{Limit: 200}}
	for len(out) < manyActs {
		list, err := b.App.Audit.List(b.Context, b.Principal.Actor(), f)
		if err != nil {
			return nil, err
		}
		out = append(out, list.Items...)
		if list.Next == "" {
			break
		}
		f.Page.After = list.Next
	}
	slices.Reverse(out)
	return out, nil
}

// mergeEvents merges journal rows and audit events. An audit event follows the journal row that it
// refers to, or is placed by its time. An action that is also a journal row becomes one event.
func mergeEvents(journal []domain.Entry, acts []domain.AuditEvent) []runEvent {
	out := make([]runEvent, 0, len(journal)+len(acts))
	next := 0
	rows := func(before func(*domain.Entry) bool) {
		for ; next < len(journal) && before(&journal[next]); next++ {
			out = append(out, runEvent{kind: string(journal[next].Kind), entry: &journal[next]})
		}
	}
	for i := range acts {
		a := &acts[i]
		if a.RunSeq > 0 {
			rows(func(e *domain.Entry) bool { return e.Seq <= a.RunSeq })
		} else {
			rows(func(e *domain.Entry) bool { return !e.At.After(a.At) })
		}
		if inJournal(journal[:next], a) {
			continue
		}
		kind := eventAction
		if a.Action == "run.status" {
			kind = eventStatus
		}
		out = append(out, runEvent{kind: kind, action: a})
	}
	rows(func(*domain.Entry) bool { return true })
	return out
}

// inJournal reports whether one of the last journal rows records the action. The action may be
// followed by rows of the same checkpoint.
func inJournal(journal []domain.Entry, a *domain.AuditEvent) bool {
	if a.RunSeq == 0 || a.Action == "run.status" {
		return false
	}
	for i := len(journal) - 1; i >= max(0, len(journal)-32); i-- {
		e := &journal[i]
		if e.Actor != a.Actor {
			continue
		}
		switch e.Kind {
		case domain.EntryAction:
			if "run."+PayloadOf(e).Action == a.Action {
				return true
			}
		case domain.EntryReset:
			if a.Action == "run.resume" {
				return true
			}
		case domain.EntryResolve:
			if a.Action == "node.resolve" || strings.HasPrefix(a.Action, "approval.") {
				return true
			}
		}
	}
	return false
}

// Payload is the payload of an action row.
type Payload struct{ Action string }

func PayloadOf(e *domain.Entry) Payload {
	var p Payload
	if len(e.Decision) > 0 && json.Unmarshal(e.Decision, &p) != nil {
		return Payload{} // the row is labeled by its kind
	}
	return p
}

func (b *Part) event(e *domain.Entry) kit.EventRow {
	row := kit.EventRow{
		Seq:   strconv.FormatInt(e.Seq, 10),
		At:    b.Time(e.At),
		Event: Word(b.Record, e),
		Step:  e.Node,
		Actor: kit.Escape(e.Actor),
		Text:  kit.Escape(e.Reason),

		Status: eventMark(e),
	}
	if e.Visit > 1 {
		row.Step += " " + b.T("iteration %d", e.Visit)
	}
	if e.Item >= 0 && e.Node != "" {
		row.Step += fmt.Sprintf(" [%d]", e.Item)
	}
	if e.Attempt > 1 {
		row.Step += " " + b.T("attempt %d", e.Attempt)
	}
	if e.Kind == domain.EntryWait {
		row.Text = cmp.Or(b.Reason(domain.WaitReason(e.Reason)), row.Text)
		if !e.DueAt.IsZero() {
			row.Text += ", " + b.T("until %s", b.Time(e.DueAt).Text)
		}
	}
	if e.Failure != nil {
		row.Text = kit.Escape(e.Failure.Message)
	} else if d := record.DecisionOf(e.Decision); e.Final && d.To != "" {
		row.Text = "→ " + d.To
	}
	row.Text = kit.Truncate(row.Text, 500)
	return row
}

// eventMark returns the icon and the color of a journal row.
func eventMark(e *domain.Entry) kit.Status {
	reason := domain.WaitReason(e.Reason)
	switch e.Kind {
	case domain.EntryResult, domain.EntrySubstep:
		return record.StepStatus(e.Status)
	case domain.EntryIntent:
		return kit.Status{Key: "idle", Icon: "i-play"}
	case domain.EntryWait:
		if reason == domain.WaitInDoubt || reason.NeedsPerson() {
			return ui.RunStatus(domain.RunWaiting, reason)
		}
		return kit.Status{Key: "idle", Icon: "i-wait"}
	case domain.EntryReset, domain.EntryReplan:
		return kit.Status{Key: "idle", Icon: "i-retry"}
	}
	return kit.Status{Key: "idle", Icon: "i-user"}
}

// Word returns the label of a journal row.
func Word(b *record.Record, e *domain.Entry) string {
	switch e.Kind {
	case domain.EntryResult:
		return b.T(record.StepStatus(e.Status).Word)
	case domain.EntrySubstep:
		return b.T("call") + " " + b.T(record.StepStatus(e.Status).Word)
	case domain.EntryAction, domain.EntryResolve:
		p := PayloadOf(e)
		return actionName(b.Request, cmp.Or(p.Action, string(e.Kind)))
	}
	return actionName(b.Request, string(e.Kind))
}

func actionName(r *record.Request, code string) string {
	if w, ok := eventWords[code]; ok {
		return r.T(w)
	}
	return kit.Escape(code)
}

// actionEvent converts an audit event to a row.
func (b *Part) actionEvent(a *domain.AuditEvent) kit.EventRow {
	row := kit.EventRow{
		Href:  fmt.Sprintf("/audit/%d", a.Seq),
		At:    b.Time(a.At),
		Actor: kit.Escape(a.Actor),
		Text:  kit.Escape(kit.Truncate(a.Reason, 500)),

		Status: kit.Status{Key: "idle", Icon: "i-user"},
	}
	row.Event = actionName(b.Request, strings.TrimPrefix(a.Action, "run."))
	if a.Action == "run.status" {
		var d struct {
			Status     domain.RunStatus
			WaitReason domain.WaitReason
			Headline   string
			Message    string
		}
		if json.Unmarshal(a.Detail, &d) == nil {
			st := ui.RunStatus(d.Status, d.WaitReason)
			row.Event, row.Actor, row.Status = b.T(st.Word), "", st
			row.Text = b.Message(domain.DecodeMessage(&d.Message, d.Headline))
		}
	}
	if a.Result != "ok" {
		row.Event += " · " + b.T(event.Result(a.Result).Word)
	}
	return row
}
