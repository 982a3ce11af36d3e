package run_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// In place of a removed value, pages show when retention removed it, and its digest. The digest of
// the last rows is the one in the audit log.
func TestWhatRetentionRemovedKeepsItsDigest(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(
		t,
		"id: kept\nnodes:\n  a: {type: set, input: \"${input}\"}\n  b: {type: wait, input: {for: 10ms}}\n"+
			"  c: {type: set, input: done}\nedges: [{from: a, to: b}, {from: b, to: c}]\n",
	)
	run := site.Run(t, "kept", `{"x": 1}`)
	other := site.Run(t, "kept", `{"x": 2}`)
	if other.Status != domain.RunCompleted || run.Status != domain.RunCompleted {
		t.Fatalf("%s %s", run.Status, other.Status)
	}
	before, err := site.Store.Kept(t.Context(), run.ID)
	if err != nil || before.Created == "" || len(before.Rows) == 0 {
		t.Fatalf("%+v, %v", before, err)
	}
	next := int64(1)
	for _, d := range before.Rows {
		if d.First != next || len(d.Digest) != 64 {
			t.Errorf("after row %d comes %+v", next-1, d)
		}
		next = d.Last + 1
	}
	if next != run.LastSeq+1 {
		t.Errorf("the digests end with row %d of %d", next-1, run.LastSeq)
	}
	if _, err := site.Store.Retain(t.Context(), domain.Retention{Default: domain.RetentionRule{Completed: time.Nanosecond}},
		domain.System, false); err != nil {
		t.Fatal(err)
	}
	last := before.Rows[len(before.Rows)-1].Digest
	b := site.Browser(t).Login()
	page := "/runs/" + run.ID
	webtest.HasTexts(t, b.Get(page+"?view=io"), http.StatusOK, "Removed by retention on", "sha256:"+before.Created, "sha256:"+last)
	state := b.Get(page + "?view=state")
	webtest.HasTexts(t, state, http.StatusOK, "Removed by retention on", "sha256:"+before.Created)
	for _, d := range before.Rows {
		if !strings.Contains(state.Body, "sha256:"+d.Digest) {
			t.Errorf("the state lacks the digest of rows %d to %d", d.First, d.Last)
		}
	}
	webtest.HasTexts(t, b.Get(page+"/raw/0/input"), http.StatusGone, "Removed by retention on", "sha256:"+before.Created)
	webtest.HasTexts(t, b.Get(page+"/raw/0/output"), http.StatusGone, "sha256:"+last)
	webtest.HasTexts(t, b.Get(page+"/raw/1/output"), http.StatusGone, "sha256:"+before.Rows[0].Digest)
}

// The page of a deleted run remains. It shows that the run is deleted, and offers no action that
// would be refused.
func TestADeletedRunIsMarked(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: breaks\nnodes:\n  a: {type: json, input: {value: 1, path: \"(\"}}\n")
	run := site.Run(t, "breaks", `{}`)
	b := site.Browser(t).Login()
	page := "/runs/" + run.ID
	webtest.HasTexts(t, b.Get(page), http.StatusOK, page+"/resume", page+"/delete")
	if _, err := site.Engine.Act(t.Context(), domain.System, domain.ActionRequest{Run: run.ID, Action: domain.ActionDelete}); err != nil {
		t.Fatal(err)
	}
	after := b.Get(page)
	webtest.HasTexts(t, after, http.StatusOK, "This run was deleted on", page+"/rerun")
	for _, verb := range []string{"/resume", "/delete"} {
		if strings.Contains(after.Body, page+verb) {
			t.Errorf("%s is offered", verb)
		}
	}
	webtest.HasTexts(t, b.Get(page+"/delete"), http.StatusOK, "The run was already deleted")
	webtest.HasTexts(t, b.Get(page+"/resume"), http.StatusOK, "The run was deleted")
}
