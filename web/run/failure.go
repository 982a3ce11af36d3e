package run

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/diff/jsondiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/failure"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/run/record"
	"github.com/kairosd/kairosd/web/run/timeline"
)

// shownDifferences is the maximum number of input differences on the card.
const shownDifferences = 3

// failure sets the card of a failed run.
func (b *headPart) failure(w *Why) error {
	run := b.Detail.Run
	f := &Failure{Title: w.Headline, Items: w.Items}
	if title := b.failureTitle(run.Error); title != "" {
		f.Title, f.Raw = title, w.Headline
	}
	if w.Message != "" {
		f.Raw = w.Message
	}
	f.Tags = b.failureTags(run.Error)
	b.failedStep(f)
	f.Similar, f.Addresses = b.similar, w.Addresses
	if err := b.differences(f); err != nil {
		return err
	}
	w.Failure = f
	return b.consequence(f)
}

// titles describe the failure of a step by its code. The arguments are the step and its target.
var titles = map[string]string{
	"unreachable":       locale.Mark("%s could not reach %s"),
	"timeout":           locale.Mark("%s got no answer from %s in time"),
	"http_404":          locale.Mark("%s found nothing at %s"),
	"http_429":          locale.Mark("%s was refused by %s: too many calls"),
	"rate_limited":      locale.Mark("%s was refused by %s: too many calls"),
	"http_denied":       locale.Mark("%s is not allowed to call %s"),
	"http_down":         locale.Mark("%s got an error from %s"),
	"http_rejected":     locale.Mark("%s was rejected by %s"),
	"circuit_open":      locale.Mark("%s did not call %s: its circuit is open"),
	"tool_circuit_open": locale.Mark("%s did not call %s: its circuit is open"),
}

// failureTitle returns the title of the card, or an empty string if the status message is
// sufficient.
func (b *headPart) failureTitle(e *domain.RunError) string {
	target := b.TargetOf(e.Node)
	form := titles[e.Code]
	if form == "" {
		form = titles[failure.Family(e.Code)]
	}
	if form == "" || target == "" {
		return ""
	}
	return b.T(form, e.Node, target)
}

// failureTags returns the error code, the number of attempts, and the side-effect class.
func (b *headPart) failureTags(e *domain.RunError) []kit.Tag {
	out := []kit.Tag{{Text: e.Code, Class: "m fail"}}
	i, ok := b.Program.Index[e.Node]
	if !ok {
		return out
	}
	if st := b.LastOf(e.Node); st != nil && len(st.Attempts) > 0 {
		n := len(st.Attempts)
		most, _ := b.Program.Nodes[i].Retries(e.Code)
		text := b.T("%s of %s attempts", strconv.Itoa(n), strconv.Itoa(max(most, n)))
		out = append(out, kit.Tag{Text: text})
	}
	switch b.Effects[i] {
	case walk.EffectUnsafe:
		out = append(out, kit.Tag{Text: b.T("may have changed something"), Class: "need"})
	case walk.EffectIdempotent:
		out = append(out, kit.Tag{Text: b.T("safe to repeat")})
	default:
		out = append(out, kit.Tag{Text: b.T("changed nothing outside")})
	}
	return out
}

// failedStep draws the attempts and waits of the failed step over its duration.
func (b *headPart) failedStep(f *Failure) {
	st := b.LastOf(b.Detail.Run.Error.Node)
	if st == nil {
		return
	}
	f.Step = kit.Link{Text: st.Label(), Href: b.Href(url.Values{
		"step": {strconv.FormatInt(st.Seq, 10)}, "try": nil, "tab": nil, "node": nil, "view": nil,
	}) + "#inspector"}
	now := b.Site.Now()
	whole := st.Took(now)
	f.Took = kit.Duration(whole)
	at := func(t time.Time) float64 {
		return 100 * float64(t.Sub(st.Started)) / float64(max(whole, time.Millisecond))
	}
	add := func(kind int, from, to time.Time) {
		bar := timeline.Bars[kind]
		x := min(max(at(from), 0), 99)
		bar.X, bar.W = kit.Percent(x), kit.Percent(min(max(at(to)-x, 1), 100-x))
		bar.Y, bar.H, bar.Hatch = "15%", "70%", kind == timeline.BarFailed
		f.Bars = append(f.Bars, bar)
	}
	for _, w := range st.Pauses(now) {
		add(timeline.BarWait, w.From, w.To)
	}
	for _, a := range st.Attempts {
		kind := timeline.BarOK
		if a.Status == domain.NodeFailed || a.Status == domain.NodeInDoubt {
			kind = timeline.BarFailed
		}
		until := a.Ended
		if until.IsZero() {
			until = now
		}
		add(kind, a.Started, until)
	}
}

// differences adds what differs from the last completed run of the plan.
func (b *headPart) differences(f *Failure) error {
	run := b.Detail.Run
	good, err := b.Good()
	if err != nil || good.ID == "" {
		return err
	}
	f.Good = kit.Link{Text: domain.ShortID(good.ID), Href: "/runs/" + good.ID}
	f.Compare = kit.Link{Text: b.T("Compare"), Href: "/runs/compare?" + url.Values{"a": {run.ID}, "b": {good.ID}}.Encode()}
	var same []string
	differs := func(term, text string, link kit.Link) {
		f.Differences = append(f.Differences, Difference{Icon: "i-diff", Class: "need", Term: term, Text: text, Link: link})
	}
	if text := b.inputDiffers(good); text != "" {
		differs(b.T("Input"), text, kit.Link{})
	} else {
		same = append(same, b.T("input"))
	}
	if good.Version != run.Version {
		differs(b.T("Plan"), b.T("v%d, was v%d", run.Version, good.Version), kit.Link{
			Text: b.T("What changed"),
			Href: "/plans/" + url.PathEscape(run.PlanKey) + "/diff/" + strconv.Itoa(good.Version) + "/" + strconv.Itoa(run.Version),
		})
	} else {
		same = append(same, b.T("plan version"))
	}
	older, newer := good, run
	if newer.CreatedAt.Before(older.CreatedAt) {
		older, newer = newer, older
	}
	text, link, err := failure.Ports{App: b.App, Reader: b.Reader}.ChangedAround(
		b.Context,
		domain.FailureGroup{Newest: run.ID},
		domain.FailureOrigin{GoodAt: older.CreatedAt, FirstAt: newer.CreatedAt},
	)
	switch {
	case err != nil:
		return err
	case text != "":
		differs("", text, link)
	default:
		same = append(same, b.T("tools"), b.T("agents"), b.T("models"))
	}
	for _, t := range b.trouble {
		f.Differences = append(f.Differences, Difference{Icon: "i-pause", Class: "need", Text: t.Text})
		f.See = append(f.See, t.Link)
	}
	if len(same) > 0 {
		f.Differences = append(f.Differences, Difference{
			Icon: "i-ok", Class: "ok", Term: b.T("The same"), Text: strings.Join(same, ", "),
		})
	}
	return nil
}

// inputDiffers describes the difference between the input and that of another run, or returns an
// empty string if there is none.
func (b *headPart) inputDiffers(other domain.Run) string {
	was, err := jsonvalue.Decode(other.Input)
	is, err2 := jsonvalue.Decode(b.Detail.Run.Input)
	if err != nil || err2 != nil || len(other.Input)+len(b.Detail.Run.Input) > value.CopyBytes {
		return ""
	}
	changes, more := jsondiff.Diff(was, is, shownDifferences)
	var out []string
	for _, c := range changes {
		path := kit.Escape(kit.Truncate(cmp.Or(strings.TrimPrefix(c.Path, "."), b.T("the whole")), 60))
		switch c.Op {
		case jsondiff.Added:
			out = append(out, b.T("%s is %s, was not set", path, record.Short(c.New)))
		case jsondiff.Removed:
			out = append(out, b.T("%s is not set, was %s", path, record.Short(c.Old)))
		default:
			out = append(out, b.T("%s is %s, was %s", path, record.Short(c.New), record.Short(c.Old)))
		}
	}
	if more {
		out = append(out, b.T("and more"))
	}
	return strings.Join(out, "; ")
}

// stripSteps is the maximum number of cells in the strip of a resume.
const stripSteps = 60

// consequence sets the effect of a resume, or the reason why it is impossible if the plan refers to
// something that is no longer configured.
func (b *headPart) consequence(f *Failure) error {
	if !b.Resumable() {
		return nil
	}
	pre, err := b.Preview()
	if e, ok := errors.AsType[*domain.Error](err); ok && (e.Code == domain.CodeInvalid || e.Code == domain.CodeCorrupt) {
		f.Resume = &Consequence{Text: b.Sentence(e)}
		return nil
	}
	if err != nil {
		return err
	}
	c := &Consequence{Refused: !pre.Allowed}
	f.Resume = c
	if !pre.Allowed || len(pre.Later) > 0 || len(pre.InDoubt) > 0 {
		c.Text = part.Consequence(b.Context, pre)
	}
	if !pre.Allowed {
		c.Text = strings.Replace(c.Text, ": "+kit.Escape(b.Detail.Run.Error.Message), "", 1) // the card already shows it
		c.Links = b.actions()
		return nil
	}
	keep, again, fresh := len(pre.Keep), len(pre.Again), len(pre.New)
	c.Strip = resumeStrip(keep, again, fresh)
	expected, err := b.ExpectedOf(pre)
	if err != nil {
		return err
	}
	runAgain := b.one(again, stepRunsAgain, stepsRunAgain)
	if expected != nil {
		runAgain += ", " + b.T("about %s in all", kit.Duration(max(expected.Took(), time.Millisecond)))
	}
	c.Parts = []ConsequencePart{
		{"", b.Number(int64(keep)), b.one(keep, stepKeeps, stepsKeep)},
		{"now", b.Number(int64(again)), runAgain},
		{"", b.Number(int64(fresh)), b.one(fresh, stepIsNew, stepsAreNew)},
	}
	if n := len(pre.Effects); n > 0 {
		names := make([]string, 0, n)
		for _, e := range pre.Effects[:min(n, 5)] {
			names = append(names, e.Node)
		}
		c.Text = strings.TrimSpace(c.Text + " " + b.T("Steps with side effects: %s.", strings.Join(names, ", ")))
	}
	c.Links = b.otherResumes()
	if len(b.all) > 0 {
		c.Links = append(c.Links, b.all[0])
	}
	return nil
}

// Effects of a resume on steps, after their number.
var (
	stepKeeps     = locale.Mark("step keeps its result")
	stepsKeep     = locale.Mark("steps keep their results")
	stepRunsAgain = locale.Mark("step runs again")
	stepsRunAgain = locale.Mark("steps run again")
	stepIsNew     = locale.Mark("step runs for the first time")
	stepsAreNew   = locale.Mark("steps run for the first time")
)

// one returns the singular or plural text for n.
func (b *headPart) one(n int, one, other string) string {
	if n == 1 {
		return b.T(one)
	}
	return b.T(other)
}

// resumeStrip returns cells for the steps that are kept, repeated, or run for the first time.
func resumeStrip(keep, again, fresh int) []part.Cell {
	all := keep + again + fresh
	if all == 0 {
		return nil
	}
	n := min(all, stripSteps)
	w := 100 / float64(n)
	out := make([]part.Cell, n)
	for i := range out {
		class := "g-ok"
		switch at := i * all / n; {
		case at >= keep+again:
			class = "g-idle"
		case at >= keep:
			class = "g-now"
		}
		out[i] = part.Cell{Class: class, X: kit.Percent(float64(i) * w), W: kit.Percent(w * .88), Y: "0", H: "100%"}
	}
	return out
}

// otherResumes returns links to the variants of a resume.
func (b *headPart) otherResumes() (out []kit.Link) {
	at := "/runs/" + b.Detail.Run.ID + "/resume"
	if pre := b.Resume(); pre != nil {
		i := slices.IndexFunc(pre.Again, domain.PreviewStep.Reopened)
		if i >= 0 && len(pre.Again)+len(pre.New) > 1 {
			s := pre.Again[i]
			only := url.Values{"only": {s.Node + "#" + strconv.Itoa(s.Visit)}}
			out = append(out, kit.Link{Text: b.T("Only %s…", kit.StepName(s.Node, s.Visit)), Href: at + "?" + only.Encode(), Dialog: true})
		}
	}
	if len(b.trouble) > 0 {
		q := b.trouble[0].Until
		q.Set("do", "resume")
		q.Set("run", b.Detail.Run.ID)
		out = append(out, kit.Link{Text: b.T("When calls go through…"), Href: "/bulk/new?" + q.Encode(), Dialog: true})
	}
	return out
}
