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

// state returns the state at a checkpoint: the input of the run, and the outputs up to the
// checkpoint.
func (b statePart) state() StateView {
	run := b.Detail.Run
	at := int64(-1)
	if n, err := strconv.ParseInt(b.Query("cp"), 10, 64); err == nil && n >= 0 {
		at = n
	}
	var points []domain.Entry
	for _, e := range b.Detail.Journal {
		if part.IsCheckpoint(&e) {
			points = append(points, e)
		}
	}
	if n, err := strconv.Atoi(b.Query("nthcp")); err == nil && n >= 0 { // position of the slider, an index of the list
		at = 0
		if n = min(n, len(points)); n > 0 {
			at = points[n-1].Seq
		}
	}
	if at < 0 && len(points) > 0 {
		at = points[len(points)-1].Seq
	}
	at = max(at, 0)
	var v StateView
	against := int64(-1)
	if n, err := strconv.ParseInt(b.Query("against"), 10, 64); err == nil && n >= 0 && n != at {
		against = n
	}
	cp := func(seq int64, text, change string) {
		c := Checkpoint{
			Link: kit.Link{
				Text:    text,
				Current: seq == at,
				Href:    b.Href(url.Values{"view": {"state"}, "cp": {strconv.FormatInt(seq, 10)}}),
			},
			Change: change,
		}
		switch {
		case seq == against:
			c.Against = kit.Link{
				Text:    b.T("end the comparison"),
				Href:    b.Href(url.Values{"view": {"state"}, "against": nil}),
				Current: true,
			}
			v.Against = text
		case seq != at:
			c.Against = kit.Link{
				Text: b.T("compare"),
				Href: b.Href(url.Values{"view": {"state"}, "cp": {strconv.FormatInt(at, 10)}, "against": {strconv.FormatInt(seq, 10)}}),
			}
		}
		v.Checkpoints = append(v.Checkpoints, c)
		if seq == at {
			v.Heading = b.T("State at %s", text)
		}
	}
	cp(0, b.T("cp 0 input"), b.Size(len(run.Input)))
	hidden := max(0, len(points)-shownCheckpoints)
	if hidden > 0 {
		v.Hidden = b.N(
			hidden,
			"%s older checkpoint is not listed. Open it with cp= and its number in the address.",
			"%s older checkpoints are not listed. Open one with cp= and its number in the address.",
		)
	}
	before := map[string]domain.RawJSON{}
	for i, e := range points {
		if i < hidden && e.Seq != at && e.Seq != against {
			before[e.Node] = e.Output
			continue
		}
		name := kit.StepName(e.Node, e.Visit)
		if e.Item >= 0 {
			name += fmt.Sprintf("[%d]", e.Item)
		}
		cp(e.Seq, b.T("cp %d after %s", e.Seq, name), changeCount(before[e.Node], e.Output)+" · "+b.Size(len(e.Output)))
		before[e.Node] = e.Output
	}
	if against >= 0 {
		b.stateDiff(&v, points, against, at)
	}
	seen := map[string]bool{}
	for _, e := range slices.Backward(points) { // the newest output of each step first
		if against >= 0 || e.Seq > at || seen[e.Node] {
			continue
		}
		if seen[e.Node] = true; len(seen) > shownBlocks {
			continue
		}
		out, note := e.Output, ""
		if e.Item >= 0 { // the items of the foreach that are known so far
			out = b.itemsUntil(e, shownOutput)
		}
		if len(out) > shownOutput {
			note = b.T("Too long to show here; open the step.")
			out = nil
		}
		bl := b.Reading().Block(fmt.Sprintf("cp-%d", e.Seq), "output."+e.Node, out, fmt.Sprintf("/runs/%s/raw/%d/output", run.ID, e.Seq))
		if note != "" {
			bl.Note = note
		}
		if e.Seq == at {
			bl.Title += " · " + b.T("new here")
		} else {
			b.foldOld(&bl, out)
		}
		v.Blocks = append(v.Blocks, bl)
	}
	if n := len(seen) - shownBlocks; n > 0 {
		v.Same = b.N(
			n,
			"%s older output is not shown: open its step, or look at an earlier checkpoint.",
			"%s older outputs are not shown: open their steps, or look at an earlier checkpoint.",
		)
	}
	if against < 0 {
		input := b.Reading().Block("cp-input", "input", run.Input, "/runs/"+run.ID+"/raw/0/input")
		if text := b.DamagedValue(run, domain.PartInput); text != "" {
			input.Text, input.Raw = text, ""
		}
		if at > 0 {
			b.foldOld(&input, run.Input)
		}
		v.Blocks = append(v.Blocks, input)
		v.Find = b.FindForm(v.Blocks)
	}
	if len(points) > 0 {
		place := 0
		for i, e := range points {
			if e.Seq <= at {
				place = i + 1
			}
		}
		v.Slider = &Slider{
			Action:  "/runs/" + run.ID,
			Max:     strconv.Itoa(len(points)),
			Value:   strconv.Itoa(place),
			Refresh: "/runs/" + run.ID + "?view=state",
		}
		if against >= 0 {
			v.Slider.Against = strconv.FormatInt(against, 10)
			v.Slider.Refresh += "&against=" + v.Slider.Against
		}
	}
	if v.At = at; at > 0 && against < 0 {
		before := "0"
		for _, e := range points {
			if e.Seq < at {
				before = strconv.FormatInt(e.Seq, 10)
			}
		}
		v.Previous = b.Href(url.Values{"view": {"state"}, "cp": {strconv.FormatInt(at, 10)}, "against": {before}})
	}
	if v.Heading == "" {
		v.Heading = b.T("State at checkpoint %d", at)
	}
	if b.Principal.Role.Includes(domain.RoleOperator) {
		v.Fork = fmt.Sprintf("/runs/%s/fork?at=%d", run.ID, at)
	}
	return v
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
