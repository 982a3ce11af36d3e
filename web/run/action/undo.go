package action

import (
	"cmp"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/value"
)

// maxUndoInput is the maximum length of the input of a call on the preview of an undo.
const maxUndoInput = 300

// skips reads the steps that an undo leaves as they are from a form or link.
func (r *request) skips() []string {
	_ = r.Field("skip") // parses the form
	if names := r.Echo.Request().Form["skip"]; len(names) > 0 {
		return slices.Compact(slices.Sorted(slices.Values(names)))
	}
	return nil
}

// undoChoices adds the calls of an undo, and the choice of steps to leave as they are.
func (r *request) undoChoices(p *PreviewPage, req domain.ActionRequest, pre domain.Preview) {
	for _, c := range pre.Undo {
		step := kit.ItemName(c.Node, c.Visit, c.Item)
		input := kit.Truncate(kit.Escape(string(c.Input)), maxUndoInput)
		p.Undo = append(p.Undo, UndoCall{Step: step, At: r.Time(c.CompletedAt), Call: cmp.Or(c.Target, c.Type),
			Effect: value.Effect(r.Context, c.Effect), Input: input})
		p.Skips = append(p.Skips, kit.Option{Value: c.Name(), Text: step})
	}
	for _, name := range req.Skip {
		p.Skips = append(p.Skips, kit.Option{Value: name, Text: name, Selected: true})
	}
	if p.Check = r.T("Update the preview"); len(p.Skips) > maxSkips {
		p.Skips = nil
	}
}

// maxSkips is the maximum number of steps that the form offers to leave as they are.
const maxSkips = 200

// Skipped reports whether a step is left as it is.
func (o Options) Skipped() bool {
	return slices.ContainsFunc(o.Skips, func(o kit.Option) bool { return o.Selected })
}
