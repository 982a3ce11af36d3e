package web

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/view"
)

// This file is the editor of what a fork keeps: checked by the server while it is
// typed, or by a button, and never lost over a mistake.

const (
	// editableBytes is up to which length an output can be edited on a page.
	editableBytes = 8 << 10
	// shownEdits is how many outputs can be, the last before the fork point.
	shownEdits = 20
)

// edits reads the outputs that were edited. What is no JSON is kept as it was
// typed, and said beside it.
func (r *request) edits(req *domain.VerbRequest) {
	for key := range r.c.Request().Form {
		node, ok := strings.CutPrefix(key, "edit.")
		if !ok {
			continue
		}
		if j := r.changed(node, r.c.FormValue(key), r.c.FormValue("was."+node)); j != nil {
			if req.Edits == nil {
				req.Edits = map[string]domain.RawJSON{}
			}
			req.Edits[node] = j
		}
	}
}

// changed is a value that was typed; nil when it says the same as before, or is
// no JSON.
func (r *request) changed(name, text, was string) domain.RawJSON {
	j, err := jsonOf(text)
	if err != nil {
		if r.wrong == nil {
			r.wrong = map[string]typed{}
		}
		r.wrong[name] = typed{text, err.Error()}
		return nil
	}
	if old, err := jsonOf(was); err == nil && bytes.Equal(j, old) {
		return nil
	}
	return j
}

// typed is a text that cannot be used, and why.
type typed struct{ text, why string }

// field is a value that may be edited, as it stands.
func (r *request) field(name, was string, edited domain.RawJSON) view.EditField {
	f := view.EditField{Name: name, Value: was, Was: was}
	if edited != nil {
		f.Value = pretty(edited)
	}
	if w, ok := r.wrong[name]; ok {
		f.Value, f.Wrong = w.text, w.why
	}
	return f
}

// change is what an edit does to a value.
func (r *request) change(name string, a, z domain.RawJSON) view.Block {
	b := view.Block{ID: "change-" + safeName(name), Title: name}
	b.Diff, b.Note = r.jsonDiff(a, z)
	return b
}

// read reports whether something that would run may look at a node's output: by
// its name, or because it follows it.
func (b *runPage) read(node string, pre domain.Preview) bool {
	for _, list := range [][]domain.PreviewStep{pre.Again, pre.New} {
		for _, s := range list {
			i, ok := b.program.Index[s.Node]
			if !ok {
				return true // another version
			}
			for _, j := range b.program.Reads(i) {
				if b.program.Nodes[j].ID == node {
					return true
				}
			}
			needs, edges := b.before(s.Node)
			for _, n := range append(needs, edges...) {
				if n == node {
					return true
				}
			}
		}
	}
	return false
}

// choices adds what a fork or rerun lets one change.
func (r *request) choices(p *view.PreviewPage, v verb, req domain.VerbRequest, pre domain.Preview, run domain.Run, began int) error {
	p.Check = r.t("Show what would happen")
	was := "null"
	if run.Input != nil {
		was = pretty(run.Input)
	}
	in := r.field("input", was, req.Input)
	p.Input = &in
	if req.Input != nil {
		p.Changes = append(p.Changes, r.change("input", run.Input, req.Input))
	}
	labels := labelText(run.Labels)
	p.Labels = &view.EditField{Value: labels, Was: labels}
	if w, ok := r.wrong["labels"]; ok {
		p.Labels.Value, p.Labels.Wrong = w.text, w.why
	} else if req.Labels != nil {
		p.Labels.Value = labelText(req.Labels)
	}
	back := url.Values{}
	for key, n := range map[string]int64{"at": req.At, "version": int64(req.Version)} {
		if n != 0 {
			back.Set(key, strconv.FormatInt(n, 10))
		}
	}
	p.Reset = strings.TrimSuffix("/runs/"+run.ID+"/"+string(v.action)+"?"+back.Encode(), "?")
	latest, err := r.s.Reader.Plan(r.ctx, run.PlanID)
	if err != nil {
		return err
	}
	p.Versions = []view.Option{{Value: "0", Text: r.t("the same, v%d", began), Selected: req.Version == 0}}
	if began != run.Version {
		// It was planned anew for that one run.
		p.Versions = append(p.Versions, view.Option{Value: strconv.Itoa(run.Version), Text: r.t("what it followed at last, v%d", run.Version), Selected: req.Version == run.Version})
	}
	if latest.Latest != run.Version {
		p.Versions = append(p.Versions, view.Option{Value: "-1", Text: r.t("the newest, v%d", latest.Latest), Selected: req.Version == -1})
	}
	if v.action != domain.ActionFork || req.At == 0 {
		return nil
	}
	// The kept outputs up to the fork point may be edited, small ones here.
	b, err := r.openRun(run.ID)
	if err != nil {
		return err
	}
	for i := range b.d.Journal {
		e := &b.d.Journal[i]
		if e.Seq > req.At {
			break
		}
		if !isCheckpoint(e) || e.Item >= 0 || len(e.Output) > editableBytes || b.typeOf(e.Node) == walk.TypeApproval {
			continue
		}
		name := stepName(e.Node, e.Visit)
		p.Edits = append(p.Edits, r.field(name, pretty(e.Output), req.Edits[name]))
		if j, ok := req.Edits[name]; ok {
			c := r.change("output."+name, e.Output, j)
			if !b.read(e.Node, pre) {
				c.Says = r.t("Nothing that will run names this value: the edit may change nothing.")
			}
			p.Changes = append(p.Changes, c)
		}
	}
	if len(p.Edits) > shownEdits {
		p.Edits = p.Edits[len(p.Edits)-shownEdits:]
	}
	return nil
}
