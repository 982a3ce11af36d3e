// Package state contains the state view of a run: its input and outputs at a checkpoint.
package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/diff/jsondiff"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/run/record"
)

// shownOutput is the maximum size of an output in bytes. The page of the step shows larger ones.
const shownOutput = 16 << 10

// shownBlocks is the maximum number of outputs.
const shownBlocks = 60

// shownLines is the number of lines above which an older output is folded.
const shownLines = 6

// shownCheckpoints is the maximum number of listed checkpoints.
const shownCheckpoints = 300

// statePart builds the state view.
type statePart struct{ *record.Record }

// Of returns the state of a run at the requested checkpoint.
func Of(b *record.Record) (StateView, error) { return statePart{b}.shown() }

// shown returns the state, or the digests that remain after retention removed it.
func (b statePart) shown() (StateView, error) {
	st := b.state()
	if b.Detail.Run.PurgedAt.IsZero() {
		return st, nil
	}
	var err error
	st.Blocks, err = b.RemovedBlocks(true)
	st.Find, st.Fork = nil, ""
	return st, err
}

// position is the part of a run that the state view shows.
type position struct {
	points  []domain.Entry // checkpoints of the run, oldest first
	at      int64          // sequence number of the shown checkpoint; 0 is the input
	against int64          // sequence number of the checkpoint to compare with; -1 if there is none
}

// position reads the requested checkpoint from the address. The last one is the default.
func (b statePart) position() position {
	p := position{at: b.seq("cp"), against: b.seq("against")}
	for _, e := range b.Detail.Journal {
		if part.IsCheckpoint(&e) {
			p.points = append(p.points, e)
		}
	}
	if n := b.seq("nthcp"); n >= 0 { // the slider sends the position in the list
		p.at = 0
		if n = min(n, int64(len(p.points))); n > 0 {
			p.at = p.points[n-1].Seq
		}
	}
	if p.at < 0 && len(p.points) > 0 {
		p.at = p.points[len(p.points)-1].Seq
	}
	p.at = max(p.at, 0)
	if p.against == p.at {
		p.against = -1
	}
	return p
}

// seq returns a number of the address that is not negative, or -1.
func (b statePart) seq(parameter string) int64 {
	if n, err := strconv.ParseInt(b.Query(parameter), 10, 64); err == nil && n >= 0 {
		return n
	}
	return -1
}

// comparing reports whether two checkpoints are compared.
func (p *position) comparing() bool { return p.against >= 0 }

// reached returns the number of checkpoints up to the shown one.
func (p *position) reached() int {
	n := 0
	for _, e := range p.points {
		if e.Seq <= p.at {
			n++
		}
	}
	return n
}

// previous returns the sequence number of the checkpoint before the shown one, or 0 for the input.
func (p *position) previous() (seq int64) {
	for _, e := range p.points {
		if e.Seq < p.at {
			seq = e.Seq
		}
	}
	return seq
}

// state returns the state at a checkpoint: the input of the run, and the outputs up to the
// checkpoint.
func (b statePart) state() StateView {
	p := b.position()
	v := StateView{At: p.at, Heading: b.T("State at checkpoint %d", p.at)}
	b.listCheckpoints(&v, &p)
	if p.comparing() {
		b.stateDiff(&v, p.points, p.against, p.at)
	} else {
		b.showOutputs(&v, &p)
		b.showInput(&v, &p)
		v.Find = b.FindForm(v.Blocks)
		if p.at > 0 {
			before := strconv.FormatInt(p.previous(), 10)
			v.Previous = b.Href(url.Values{"view": {"state"}, "cp": {strconv.FormatInt(p.at, 10)}, "against": {before}})
		}
	}
	if len(p.points) > 0 {
		v.Slider = b.slider(&p)
	}
	if b.Principal.Role.Includes(domain.RoleOperator) {
		v.Fork = fmt.Sprintf("/runs/%s/fork?at=%d", b.Detail.Run.ID, p.at)
	}
	return v
}

// listCheckpoints lists the input and the newest checkpoints, oldest first. The shown checkpoint
// gives the view its heading.
func (b statePart) listCheckpoints(v *StateView, p *position) {
	b.listCheckpoint(v, p, 0, b.T("cp 0 input"), b.Size(len(b.Detail.Run.Input)))
	hidden := max(0, len(p.points)-shownCheckpoints)
	if hidden > 0 {
		v.Hidden = b.N(
			hidden,
			"%s older checkpoint is not listed. Open it with cp= and its number in the address.",
			"%s older checkpoints are not listed. Open one with cp= and its number in the address.",
		)
	}
	before := map[string]domain.RawJSON{}
	for i, e := range p.points {
		if i >= hidden || e.Seq == p.at || e.Seq == p.against {
			name := kit.StepName(e.Node, e.Visit)
			if e.Item >= 0 {
				name += fmt.Sprintf("[%d]", e.Item)
			}
			change := changeCount(before[e.Node], e.Output) + " · " + b.Size(len(e.Output))
			b.listCheckpoint(v, p, e.Seq, b.T("cp %d after %s", e.Seq, name), change)
		}
		before[e.Node] = e.Output
	}
}

// listCheckpoint adds a checkpoint to the list, with the link that compares it with the shown one.
func (b statePart) listCheckpoint(v *StateView, p *position, seq int64, text, change string) {
	number := strconv.FormatInt(seq, 10)
	c := Checkpoint{
		Link: kit.Link{
			Text:    text,
			Current: seq == p.at,
			Href:    b.Href(url.Values{"view": {"state"}, "cp": {number}}),
		},
		Change: change,
	}
	switch seq {
	case p.at:
		v.Heading = b.T("State at %s", text)
	case p.against:
		c.Against = kit.Link{
			Text:    b.T("end the comparison"),
			Href:    b.Href(url.Values{"view": {"state"}, "against": nil}),
			Current: true,
		}
		v.Against = text
	default:
		c.Against = kit.Link{
			Text: b.T("compare"),
			Href: b.Href(url.Values{"view": {"state"}, "cp": {strconv.FormatInt(p.at, 10)}, "against": {number}}),
		}
	}
	v.Checkpoints = append(v.Checkpoints, c)
}

// showOutputs shows the output of each step at the shown checkpoint, newest first.
func (b statePart) showOutputs(v *StateView, p *position) {
	seen := map[string]bool{}
	for _, e := range slices.Backward(p.points) {
		if e.Seq > p.at || seen[e.Node] {
			continue
		}
		if seen[e.Node] = true; len(seen) <= shownBlocks {
			v.Blocks = append(v.Blocks, b.output(e, e.Seq == p.at))
		}
	}
	if n := len(seen) - shownBlocks; n > 0 {
		v.Same = b.N(
			n,
			"%s older output is not shown: open its step, or look at an earlier checkpoint.",
			"%s older outputs are not shown: open their steps, or look at an earlier checkpoint.",
		)
	}
}

// output returns the output of a step. The output that the shown checkpoint wrote is marked as new.
func (b statePart) output(e domain.Entry, isNew bool) kit.Block {
	out, note := e.Output, ""
	if e.Item >= 0 { // the items of the foreach that are known so far
		out = b.itemsUntil(e, shownOutput)
	}
	if len(out) > shownOutput {
		note = b.T("Too long to show here; open the step.")
		out = nil
	}
	raw := fmt.Sprintf("/runs/%s/raw/%d/output", b.Detail.Run.ID, e.Seq)
	bl := b.Reading().Block(fmt.Sprintf("cp-%d", e.Seq), "output."+e.Node, out, raw)
	if note != "" {
		bl.Note = note
	}
	if isNew {
		bl.Title += " · " + b.T("new here")
	} else {
		b.foldOld(&bl, out)
	}
	return bl
}

// showInput shows the input of the run.
func (b statePart) showInput(v *StateView, p *position) {
	run := b.Detail.Run
	input := b.Reading().Block("cp-input", "input", run.Input, "/runs/"+run.ID+"/raw/0/input")
	if text := b.DamagedValue(run, domain.PartInput); text != "" {
		input.Text, input.Raw = text, ""
	}
	if p.at > 0 {
		b.foldOld(&input, run.Input)
	}
	v.Blocks = append(v.Blocks, input)
}

// slider returns the slider that moves through the checkpoints.
func (b statePart) slider(p *position) *Slider {
	s := &Slider{
		Action:  "/runs/" + b.Detail.Run.ID,
		Max:     strconv.Itoa(len(p.points)),
		Value:   strconv.Itoa(p.reached()),
		Refresh: "/runs/" + b.Detail.Run.ID + "?view=state",
	}
	if p.comparing() {
		s.Against = strconv.FormatInt(p.against, 10)
		s.Refresh += "&against=" + s.Against
	}
	return s
}

// foldOld folds a long value that the checkpoint did not change, unless the user searches or opens
// a part.
func (b statePart) foldOld(bl *kit.Block, j domain.RawJSON) {
	if bl.Lines > shownLines && b.Query("find") == "" && b.Query("into") == "" {
		bl.Folded, bl.Brief = true, record.Brief(j)
	}
}

// continues reports whether the plan continues after a failure of a foreach item.
func (b statePart) continues(node string, f *domain.Failure) bool {
	i, ok := b.Program.Index[node]
	return ok && b.Program.Nodes[i].ContinuesItem(&walk.Failure{Code: f.Code})
}

// itemsUntil returns the outputs of a foreach up to a journal row as a list. It returns nil if they
// have more than most bytes.
func (b statePart) itemsUntil(last domain.Entry, most int) domain.RawJSON {
	var values []any
	length := 0
	for _, e := range b.Detail.Journal {
		if e.Seq > last.Seq {
			break
		}
		if e.Node != last.Node || e.Visit != last.Visit || e.Item < 0 || e.Item > 10_000 || !e.Final {
			continue
		}
		var v any
		switch {
		case e.Status == domain.NodeCompleted:
			if length += len(e.Output); length > most {
				return nil
			}
			var err error
			if v, err = jsonvalue.Decode(e.Output); err != nil {
				return nil
			}
		case e.Failure != nil && b.continues(e.Node, e.Failure):
			v = walk.ItemFailure(&walk.Failure{Code: e.Failure.Code, Message: e.Failure.Message})
		default:
			continue
		}
		for len(values) <= e.Item {
			values = append(values, nil)
		}
		values[e.Item] = v
	}
	j, err := jsonvalue.Encode(values)
	if err != nil {
		return nil
	}
	return j
}

// stateDiff adds the difference between the states at two checkpoints: the diffs of changed values,
// and the names of unchanged ones.
func (b statePart) stateDiff(v *StateView, points []domain.Entry, from, to int64) {
	known := func(at int64) map[string]domain.RawJSON {
		out := map[string]domain.RawJSON{}
		for _, e := range points {
			if e.Seq > at {
				break
			}
			name := e.Node
			if e.Item >= 0 {
				name += fmt.Sprintf("[%d]", e.Item)
			}
			out[name] = e.Output
		}
		return out
	}
	a, z := known(from), known(to)
	names := map[string]bool{}
	for n := range a {
		names[n] = true
	}
	for n := range z {
		names[n] = true
	}
	var same []string
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if bytes.Equal(a[n], z[n]) {
			same = append(same, n)
			continue
		}
		if len(v.Blocks) == shownCheckpoints {
			v.Same = b.T("There are more differences.")
			return
		}
		c := kit.Block{ID: "d-" + kit.SafeName(n), Title: "output." + n}
		c.Diff, c.Note = value.Diff(b.Display.Lang, a[n], z[n])
		v.Blocks = append(v.Blocks, c)
	}
	if n := len(same); n > 0 {
		v.Same = b.N(n, "%s output is the same: %s", "%s outputs are the same: %s", kit.Truncate(strings.Join(same, ", "), 300))
	}
	if len(v.Blocks) == 0 {
		v.Same = strings.TrimSpace(b.T("Nothing differs.") + " " + v.Same)
	}
}

// changeCount summarizes the change of a step's output as the numbers of added, removed, and
// changed members.
func changeCount(before, after domain.RawJSON) string {
	if before == nil {
		return "+1"
	}
	if len(before)+len(after) > shownOutput {
		return "~"
	}
	a, errA := jsonvalue.Decode(before)
	z, errZ := jsonvalue.Decode(after)
	if errA != nil || errZ != nil {
		return "~"
	}
	changes, more := jsondiff.Diff(a, z, 50)
	count := map[jsondiff.Op]int{}
	for _, c := range changes {
		count[c.Op]++
	}
	text := fmt.Sprintf("+%d −%d ~%d", count[jsondiff.Added], count[jsondiff.Removed], count[jsondiff.Changed])
	if more {
		text += "…"
	}
	return text
}

// At handles requests for the state at a checkpoint. It redirects to the page of the run. With the
// suffix .json, it returns the whole state.
func At(r *record.Request) error {
	number, whole := strings.CutSuffix(r.Param("cp"), ".json")
	at, err := strconv.ParseInt(number, 10, 64)
	if err != nil || at < 0 {
		return domain.Errorf(domain.CodeNotFound, "%q is not a checkpoint", kit.Truncate(r.Param("cp"), 40))
	}
	if !whole {
		return r.Echo.Redirect(
			http.StatusSeeOther,
			link.With(
				"/runs/"+url.PathEscape(r.Param("run")),
				url.Values{"view": {"state"}, "cp": {number}},
				"against",
				r.Query("against"),
			),
		)
	}
	b, err := r.Open(r.Param("run"))
	if err != nil {
		return err
	}
	run := b.Detail.Run
	if !run.PurgedAt.IsZero() {
		return r.Removed(run, at)
	}
	if text := b.DamagedValue(run, domain.PartInput); text != "" {
		return domain.Errorf(domain.CodeNotFound, "the input of run %s is damaged", domain.ShortID(run.ID))
	}
	if at > int64(len(b.Detail.Journal)) {
		return domain.Errorf(domain.CodeNotFound, "run %s has no checkpoint %d", domain.ShortID(run.ID), at)
	}
	output := map[string]domain.RawJSON{}
	for _, e := range slices.Backward(b.Detail.Journal) { // the newest output of each step
		if _, known := output[e.Node]; known || e.Seq > at || !part.IsCheckpoint(&e) {
			continue
		}
		if output[e.Node] = e.Output; e.Item >= 0 {
			output[e.Node] = statePart{b}.itemsUntil(e, math.MaxInt)
		}
	}
	data, err := json.Marshal(map[string]any{"runId": run.ID, "checkpoint": at, "input": run.Input, "output": output})
	if err != nil {
		return fmt.Errorf("the state of run %s: %w", run.ID, err)
	}
	return r.Echo.Blob(http.StatusOK, "application/json", data)
}
