package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// caller calls a store and records the results as messages.
type caller struct {
	t        testing.TB
	s        engine.Store
	v        domain.Version
	runs     []string          // in the order of their creation
	names    map[string]string // names of runs in the messages
	messages []string
}

var someone = domain.Actor{Name: "marta", Role: domain.RoleAdmin, Source: "api"}

func newCaller(t testing.TB, s engine.Store) *caller {
	c := &caller{t: t, s: s, names: map[string]string{}}
	var err error
	if _, c.v, _, err = s.PutVersion(context.Background(), newVersion("p", "h1"), someone); err != nil {
		t.Fatal(err)
	}
	return c
}

func newVersion(key, hash string) domain.NewVersion {
	return domain.NewVersion{Key: key, Name: "name of " + hash, Hash: hash, Kind: "graph", Format: "yaml", Origin: "upload", Semantics: 1,
		Source: []byte("source of " + hash), Canonical: []byte("{}"), Author: "marta"}
}

func (c *caller) note(format string, args ...any) {
	c.messages = append(c.messages, fmt.Sprintf(format, args...))
}

// word returns the code of an error, or "ok".
func word(err error) string {
	if err == nil {
		return "ok"
	}
	return string(domain.CodeOf(err))
}

func (c *caller) put(v domain.NewVersion) domain.Version {
	_, got, created, err := c.s.PutVersion(context.Background(), v, someone)
	if err != nil {
		c.note("%s", word(err))
		return got
	}
	c.note("%s@%d created %v", got.PlanKey, got.Number, created)
	return got
}

// archive hides a plan from lists.
func (c *caller) archive(id string) {
	switch s := c.s.(type) {
	case *storetest.Model:
		s.Archive(id, true)
	case *store.Store:
		if _, _, err := s.Do(store.Operation{Name: "archive-plan"},
			func(tx *store.Tx) (string, error) { return id, tx.ArchivePlan(id, time.Now()) }); err != nil {
			c.note("%s", word(err))
		}
	default:
		panic("neither a store nor its model")
	}
}

func (c *caller) plan(id string) {
	p, err := c.s.Plan(context.Background(), id)
	if err != nil {
		c.note("%s", word(err))
		return
	}
	c.note("%s %q latest %d %s archived %v", p.Key, p.Name, p.Latest, p.LatestHash, p.Archived)
}

// create creates a run of the first version, unless n names another version.
func (c *caller) create(n domain.NewRun) string {
	if n.Hash == "" {
		n.Hash = c.v.Hash
	}
	if n.Actor == "" {
		n.Actor, n.Origin = "marta", "api"
	}
	r, created, err := c.s.CreateRun(context.Background(), n)
	if err != nil {
		c.note("%s", word(err))
		return ""
	}
	if c.names[r.ID] == "" {
		c.runs, c.names[r.ID] = append(c.runs, r.ID), fmt.Sprint("r", len(c.runs)+1)
	}
	if !created {
		c.note("%s is there", c.names[r.ID])
	}
	return r.ID
}

// begin creates a run that the messages leave out.
func (c *caller) begin() string { return c.create(domain.NewRun{}) }

func (c *caller) commit(k domain.Checkpoint) {
	c.note("%s", word(c.s.Commit(context.Background(), k)))
}

// at commits one row with a value at a journal position.
func (c *caller) at(run string, fence int64, value string, patch *domain.RunPatch) {
	c.commit(domain.Checkpoint{Run: run, Fence: fence, Patch: patch, Entries: []domain.Entry{entry("a", value)}})
}

func (c *caller) move(run string, fence int64, to domain.RunStatus, why domain.WaitReason) {
	c.commit(domain.Checkpoint{Run: run, Fence: fence, Patch: &domain.RunPatch{Status: to, WaitReason: why}})
}

func (c *caller) run(id string) {
	r, err := c.s.Run(context.Background(), id)
	if err != nil {
		c.note("%s", word(err))
		return
	}
	c.note("%s", c.text(r))
}

// text formats every field of a run except generated ids and times.
func (c *caller) text(r domain.Run) string {
	more := ""
	add := func(format string, on bool, v any) {
		if on {
			more += fmt.Sprintf(" "+format, v)
		}
	}
	add("output %s", r.Output != nil, brief(r.Output))
	add("input %s", r.Input != nil, brief(r.Input))
	if e := r.Error; e != nil {
		more += fmt.Sprintf(" error &{%s %s %s}", e.Code, e.Message, e.Node)
	}
	add("%q", r.Headline != "", r.Headline)
	add("at %s", r.Node != "", r.Node)
	add("path %s", r.Path != "", r.Path)
	add("priority %d", r.Priority != 0, r.Priority)
	add("key %s", r.Key != "", r.Key)
	add("labels %v", len(r.Labels) > 0, r.Labels)
	add("limits %v", r.Limits != domain.Limits{}, r.Limits)
	add("usage %v", !r.Usage.Zero(), r.Usage)
	add("crashes %d", r.Crashes != 0, r.Crashes)
	add("paused %v", r.Paused, r.Paused)
	add("due %s", !r.DueAt.IsZero(), r.DueAt.UTC().Format(time.RFC3339Nano))
	add("starts %s", !r.StartAt.IsZero(), r.StartAt.UTC().Format(time.RFC3339Nano))
	add("started %s", !r.StartedAt.IsZero(), r.StartedAt.UTC().Format(time.RFC3339Nano))
	add("took %s", r.RunningTime != 0, r.RunningTime)
	add("deleted %v", !r.DeletedAt.IsZero(), true)
	add("fork of %s", r.ForkedFrom != "", fmt.Sprint(r.ForkedFrom, "@", r.ForkSeq))
	add("rerun of %s", r.RerunOf != "", r.RerunOf)
	add("session %s", r.Session != r.ID, r.Session)
	if r.Parent != nil {
		more += fmt.Sprintf(" child of %s %v", c.names[r.Parent.Run], *r.Parent)
	}
	if k := r.Concurrency; k != nil {
		more += fmt.Sprintf(" concurrency {%s %d %s}", k.Key, k.Limit, k.OnConflict)
		for _, id := range k.Cancels {
			more += " cancels " + c.names[id]
		}
	}
	add("ended too soon or too late: %v", r.Status.Final() == r.EndedAt.IsZero(), r.EndedAt)
	status := string(r.Status)
	if r.WaitReason != "" {
		status += ":" + string(r.WaitReason)
	}
	return fmt.Sprintf("%s %s@%d %s seq %d steps %d%s", c.names[r.ID], r.PlanKey, r.Version, status, r.LastSeq, r.Steps, more)
}

// brief shortens large values to their length and ends.
func brief(v domain.RawJSON) string {
	if len(v) > 40 {
		return fmt.Sprintf("%s…%s(%d)", v[:4], v[len(v)-4:], len(v))
	}
	return fmt.Sprintf("%q", string(v))
}

func (c *caller) journal(run string, after int64) {
	j, err := c.s.Journal(context.Background(), run, after)
	if err != nil {
		c.note("%s", word(err))
		return
	}
	parts := []string{}
	for _, e := range j {
		parts = append(parts, rowText(e))
	}
	c.note("[%s]", strings.Join(parts, " "))
}

func rowText(e domain.Entry) string {
	text := fmt.Sprintf("%d:%s=", e.Seq, e.Node)
	if e.Output == nil {
		return text + "-"
	}
	return text + brief(e.Output)
}

// rowsWhole formats every field of a run's rows.
func (c *caller) rowsWhole(run string) {
	j, err := c.s.Journal(context.Background(), run, 0)
	if err != nil {
		c.note("%s", word(err))
	}
	for _, e := range j {
		e.Hash = ""
		for _, at := range []*time.Time{&e.At, &e.StartedAt, &e.DueAt} {
			if !at.IsZero() {
				*at = at.UTC().Truncate(time.Microsecond)
			}
		}
		b, err := json.Marshal(e)
		if err != nil {
			c.t.Fatal(err)
		}
		c.note("%s", b)
	}
}

func (c *caller) events(after int64, run string, limit int) {
	list, err := c.s.EventsAfter(context.Background(), after, run, limit)
	if err != nil {
		c.note("%s", word(err))
		return
	}
	parts := []string{}
	for _, e := range list {
		text := fmt.Sprintf("%d %s", e.Seq, e.Action)
		if e.Run != "" {
			text += " " + c.names[e.Run]
		}
		if e.Object != "" {
			text += " " + e.Object
		}
		if e.RunSeq != 0 {
			text += fmt.Sprintf(" %d-%d", e.FirstSeq, e.RunSeq)
		}
		for _, row := range e.Entries {
			text += " " + rowText(row)
		}
		parts = append(parts, text+" by "+e.Actor+" "+e.Result+" "+e.Reason)
	}
	c.note("%s", strings.Join(parts, "; "))
}

func (c *caller) list(runs []domain.Run, err error) {
	if err != nil {
		c.note("%s", word(err))
		return
	}
	parts := []string{}
	for _, r := range runs {
		parts = append(parts, c.names[r.ID])
	}
	c.note("%s", strings.Join(parts, " "))
}

func (c *caller) unfinished() { c.list(c.s.Unfinished(context.Background())) }

func (c *caller) active(key string) { c.list(c.s.ActiveByConcurrency(context.Background(), key)) }

func (c *caller) approval(id string) {
	a, err := c.s.Approval(context.Background(), id)
	if err != nil {
		c.note("%s", word(err))
		return
	}
	c.note("%s %s %q %s by %s %q values %s", a.ID, a.Node, a.Message, a.Status, a.DecidedBy, a.Comment, a.Values)
}

// everything formats all content, so that two stores, or a store before and after a restart, can be
// compared.
func (c *caller) everything() string {
	c.messages = nil
	for _, r := range c.runs {
		c.run(r)
		c.rowsWhole(r)
		c.events(0, r, 1000)
	}
	for _, key := range []string{"p", "q"} {
		c.plan(key)
	}
	for _, key := range []string{"one", "two"} {
		c.active(key)
	}
	c.unfinished()
	c.events(0, "", 100_000)
	last, err := c.s.LastEvent(context.Background())
	c.note("%d events %v", last, err)
	hold, err := c.s.Hold(context.Background())
	c.note("hold %v %v", hold, err)
	return strings.Join(c.messages, "\n")
}
