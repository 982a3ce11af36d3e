package record

import (
	"fmt"
	"net/http"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
)

// shownKept is the maximum number of listed digests.
const shownKept = 100

// wasRemoved returns the text that replaces a removed value. kept describes its digest, or is
// empty.
func (r *Request) wasRemoved(run domain.Run, kept string) string {
	text := r.T("Removed by retention on %s.", r.Time(run.PurgedAt).Title)
	if kept == "" {
		return text + " " + r.T("Nothing is saved.")
	}
	return text + " " + kept
}

// keptOfRow describes the digest of a journal row.
func (r *Request) keptOfRow(k domain.RetainedDigests, row int64) string {
	d, ok := k.Of(row)
	if !ok {
		return ""
	}
	if d.First == d.Last {
		return r.T("The digest of row %d, with it, is kept: sha256:%s (event %d of the audit log).", d.First, d.Digest, d.Event)
	}
	return r.T("The digest of rows %d to %d, with it, is kept: sha256:%s (event %d of the audit log).", d.First, d.Last, d.Digest, d.Event)
}

// keptInput describes the digest of a run's input.
func (r *Request) keptInput(k domain.RetainedDigests) string {
	if k.Created == "" {
		return ""
	}
	return r.T("The digest of the run's settings, including its input, is kept: sha256:%s.", k.Created)
}

// RemovedBlocks returns the blocks that replace the removed input and output, or with rows, the
// removed input and journal rows.
func (b *Record) RemovedBlocks(rows bool) ([]kit.Block, error) {
	run := b.Detail.Run
	k, err := b.Reader.Kept(b.Context, run.ID)
	if err != nil {
		return nil, err
	}
	more := []kit.Link{{Text: b.T("All audit events of the run"), Href: "/audit?run=" + run.ID}}
	out := []kit.Block{{ID: "run-in", Title: b.T("Input"), Text: b.wasRemoved(run, b.keptInput(k)), More: more}}
	if rows {
		for _, d := range k.Rows[max(0, len(k.Rows)-shownKept):] {
			title := b.T("Row %d", d.First)
			if d.Last > d.First {
				title = b.T("Rows %d to %d", d.First, d.Last)
			}
			out = append(out, kit.Block{ID: fmt.Sprintf("row-%d", d.First), Title: title, Text: b.wasRemoved(run, b.keptOfRow(k, d.First))})
		}
		return out, nil
	}
	return append(
		out,
		kit.Block{ID: "run-out", Title: b.T("Output"), Text: b.wasRemoved(run, b.keptOfRow(k, run.LastSeq)), More: more},
	), nil
}

// Removed renders an error page for a value that retention removed, with its digest. Row 0 is the
// run itself.
func (r *Request) Removed(run domain.Run, row int64) error {
	k, err := r.Reader.Kept(r.Context, run.ID)
	if err != nil {
		return err
	}
	kept := r.keptOfRow(k, row)
	if row == 0 {
		if kept = r.keptOfRow(k, run.LastSeq); r.Param("part") == "input" {
			kept = r.keptInput(k)
		}
	}
	p := kit.ErrorPage{
		Lists:    r.Lists(),
		Shell:    r.Shell("runs", "Removed"),
		Code:     http.StatusGone,
		Headline: r.T("Removed"),
		Message:  r.wasRemoved(run, kept),
		Links:    []kit.Link{{Text: run.PlanKey + " " + run.ID, Href: "/runs/" + run.ID}},
	}
	return r.Render(p.Code, kit.Error(p))
}
