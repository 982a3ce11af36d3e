package action

import (
	"bytes"
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/form"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"

	"github.com/kairosd/kairosd/internal/domain"
)

const (
	// editableBytes is the maximum size of an output that can be edited on a page.
	editableBytes = 8 << 10
	// shownEdits is the maximum number of editable outputs, which are the last before the fork
	// point.
	shownEdits = 20
)

// beforeFailure returns the last checkpoint before the failed step. It returns 0 if no step failed,
// or if none completed before it.
func (r *request) beforeFailure(req domain.ActionRequest) (int64, error) {
	d, err := r.Engine.Detail(r.Context, req.Run)
	if err != nil || d.Damage != nil {
		return 0, err
	}
	began, failed := map[string]int64{}, int64(0)
	for i := range d.Journal {
		e := &d.Journal[i]
		name := kit.StepName(e.Node, e.Visit)
		if _, ok := began[name]; !ok {
			began[name] = e.Seq
		}
		if e.Final && e.Status == domain.NodeFailed {
			failed = began[name]
		}
	}
	if failed == 0 {
		return 0, nil
	}
	pre, err := r.App.Runs.Preview(r.Context, r.Principal.Actor(), domain.ActionRequest{Run: req.Run, Action: req.Action})
	at := int64(0)
	for _, p := range pre.Points {
		if p.Closed && p.Seq < failed {
			at = max(at, p.Seq)
		}
	}
	return at, err
}

// edits reads the edited outputs. If a value is not JSON, its text is kept and the error is
// recorded.
func (r *request) edits(req *domain.ActionRequest) {
	for key := range r.Echo.Request().Form {
		node, ok := strings.CutPrefix(key, "edit.")
		if !ok {
			continue
		}
		if j := r.changed(node, r.Field(key), r.Field("was."+node)); j != nil {
			if req.Edits == nil {
				req.Edits = map[string]domain.RawJSON{}
			}
			req.Edits[node] = j
		}
	}
}

// changed returns a submitted value, or nil if it equals the previous one or is not JSON.
func (r *request) changed(name, text, was string) domain.RawJSON {
	j, err := form.JSON(text)
	if err != nil {
		if r.wrong == nil {
			r.wrong = map[string]typed{}
		}
		r.wrong[name] = typed{text, err.Error()}
		return nil
	}
	if old, err := form.JSON(was); err == nil && bytes.Equal(j, old) {
		return nil
	}
	return j
}

// typed is an invalid text, and the error.
type typed struct{ text, why string }

// field returns the field of an editable value with its current text.
func (r *request) field(name, was string, edited domain.RawJSON) EditField {
	f := EditField{Name: name, Value: was, Was: was}
	if edited != nil {
		f.Value = value.Pretty(edited)
	}
	if w, ok := r.wrong[name]; ok {
		f.Value, f.Wrong = w.text, w.why
	}
	return f
}

// change returns the diff of an edited value.
func (r *request) change(name string, a, z domain.RawJSON) kit.Block {
	b := kit.Block{ID: "change-" + kit.SafeName(name), Title: name}
	b.Diff, b.Note = value.Diff(r.Display.Lang, a, z)
	return b
}

// reads reports whether a step that would run depends on the output of a node, by a reference or as
// its successor.
func reads(p *walk.Program, node string, pre domain.Preview) bool {
	for _, list := range [][]domain.PreviewStep{pre.Again, pre.New} {
		for _, s := range list {
			i, ok := p.Index[s.Node]
			if !ok {
				return true // a step of another version
			}
			of, ok := p.Index[node]
			if !ok {
				continue
			}
			follows := slices.ContainsFunc(p.Nodes[of].Out, func(e walk.ProgramEdge) bool { return e.To == i })
			if follows || slices.Contains(p.Reads(i), of) || slices.Contains(p.Nodes[i].Needs, of) {
				return true
			}
		}
	}
	return false
}

// choices adds the values that a fork or rerun can change.
func (r *request) choices(p *PreviewPage, v actionText, req domain.ActionRequest, pre domain.Preview, run domain.Run, began int) error {
	p.Check = r.T("Show what would happen")
	was := "null"
	if run.Input != nil {
		was = value.Pretty(run.Input)
	}
	in := r.field("input", was, req.Input)
	p.Input = &in
	if req.Input != nil {
		p.Changes = append(p.Changes, r.change("input", run.Input, req.Input))
	}
	labels := part.LabelText(run.Labels)
	p.Labels = &EditField{Value: labels, Was: labels}
	if w, ok := r.wrong["labels"]; ok {
		p.Labels.Value, p.Labels.Wrong = w.text, w.why
	} else if req.Labels != nil {
		p.Labels.Value = part.LabelText(req.Labels)
	}
	back := url.Values{}
	if req.Profile != nil {
		back.Set("profile", cmp.Or(*req.Profile, noProfile))
	}
	for key, n := range map[string]int64{"at": req.At, "version": int64(req.Version)} {
		if n != 0 {
			back.Set(key, strconv.FormatInt(n, 10))
		}
	}
	p.Reset = strings.TrimSuffix("/runs/"+run.ID+"/"+string(v.action)+"?"+back.Encode(), "?")
	latest, err := r.App.Plans.Get(r.Context, r.Principal.Actor(), run.PlanID)
	if err != nil {
		return err
	}
	p.Versions = []kit.Option{{Value: "0", Text: r.T("the same, v%d", began), Selected: req.Version == 0}}
	if began != run.Version {
		// The run was replanned, so its version exists only for this run.
		p.Versions = append(
			p.Versions,
			kit.Option{
				Value:    strconv.Itoa(run.Version),
				Text:     r.T("the version that it last used, v%d", run.Version),
				Selected: req.Version == run.Version,
			},
		)
	}
	if latest.Latest != run.Version {
		p.Versions = append(p.Versions, kit.Option{Value: "-1", Text: r.T("the newest, v%d", latest.Latest), Selected: req.Version == -1})
	}
	if err := profiles(r, p, req, pre, run); err != nil || req.At == 0 {
		return err
	}
	// Small kept outputs up to the fork point can be edited here.
	d, err := r.Engine.Detail(r.Context, run.ID)
	if err != nil {
		return err
	}
	program, err := r.Engine.Program(r.Context, d.Run.ProgramRef)
	if err != nil {
		return err
	}
	for i := range d.Journal {
		e := &d.Journal[i]
		if e.Seq > req.At {
			break
		}
		if !part.IsCheckpoint(e) || e.Item >= 0 || len(e.Output) > editableBytes || isApproval(program, e.Node) {
			continue
		}
		name := kit.StepName(e.Node, e.Visit)
		p.Edits = append(p.Edits, r.field(name, value.Pretty(e.Output), req.Edits[name]))
		if j, ok := req.Edits[name]; ok {
			c := r.change("output."+name, e.Output, j)
			if !reads(program, e.Node, pre) {
				c.Explanation = r.T("No remaining step refers to this value, so the edit may change nothing.")
			}
			p.Changes = append(p.Changes, c)
		}
	}
	if len(p.Edits) > shownEdits {
		p.Edits = p.Edits[len(p.Edits)-shownEdits:]
	}
	return nil
}

// Values of the field for the profile of a new run, besides the names of profiles.
const (
	sameProfile = "="
	noProfile   = "-"
)

// profiles adds the profiles of the version that the new run follows, if it declares any.
func profiles(r *request, p *PreviewPage, req domain.ActionRequest, pre domain.Preview, run domain.Run) error {
	program, err := r.Engine.Program(r.Context, domain.AsWritten(cmp.Or(pre.Hash, run.Hash)))
	if err != nil || len(program.Start.Profiles) == 0 {
		return err
	}
	same := r.T("the same, %s", run.Profile)
	if run.Profile == "" {
		same = r.T("the same, none")
	}
	p.Profiles = []kit.Option{{Value: sameProfile, Text: same, Selected: req.Profile == nil}}
	add := func(profile, value, text string) {
		if profile != run.Profile {
			p.Profiles = append(p.Profiles, kit.Option{Value: value, Text: text, Selected: req.Profile != nil && *req.Profile == profile})
		}
	}
	add("", noProfile, r.T("none: the plan as written"))
	for _, name := range program.Start.Profiles {
		add(name, name, name)
	}
	return nil
}

func isApproval(p *walk.Program, node string) bool {
	i, ok := p.Index[node]
	return ok && p.Nodes[i].Type == walk.TypeApproval
}
