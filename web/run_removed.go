package web

import (
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// This file is what stands in place of what retention removed: when it
// went, and the digest that the audit log keeps of it.

// shownKept bounds how many digests are listed.
const shownKept = 100

// wasRemoved says that a value is gone, and what is kept of it.
func (r *request) wasRemoved(run domain.Run, kept string) string {
	text := r.t("Removed by retention on %s.", r.time(run.PurgedAt).Title)
	if kept == "" {
		return text + " " + r.t("Nothing of it is kept.")
	}
	return text + " " + kept
}

// keptOfRow is the digest that covers a row of the journal.
func (r *request) keptOfRow(k domain.KeptDigests, row int64) string {
	d, ok := k.Of(row)
	if !ok {
		return ""
	}
	if d.First == d.Last {
		return r.t("The digest of row %d, with it, is kept: sha256:%s (event %d of the audit log).", d.First, d.Digest, d.Event)
	}
	return r.t("The digest of rows %d to %d, with it, is kept: sha256:%s (event %d of the audit log).", d.First, d.Last, d.Digest, d.Event)
}

// keptInput is the digest that covers a run's input.
func (r *request) keptInput(k domain.KeptDigests) string {
	if k.Created == "" {
		return ""
	}
	return r.t("The digest of what the run was created with, its input among it, is kept: sha256:%s.", k.Created)
}

// removedBlocks are the places of the input and the output, and with rows those of
// every checkpoint.
func (b *runPage) removedBlocks(rows bool) ([]view.Block, error) {
	run := b.d.Run
	k, err := b.s.Reader.Kept(b.ctx, run.ID)
	if err != nil {
		return nil, err
	}
	more := []view.Link{{Text: b.t("All that the audit log says of it"), Href: "/audit?run=" + run.ID}}
	out := []view.Block{{ID: "run-in", Title: b.t("Input"), Text: b.wasRemoved(run, b.keptInput(k)), More: more}}
	if rows {
		for _, d := range k.Rows[max(0, len(k.Rows)-shownKept):] {
			title := b.t("Row %d", d.First)
			if d.Last > d.First {
				title = b.t("Rows %d to %d", d.First, d.Last)
			}
			out = append(out, view.Block{ID: fmt.Sprintf("row-%d", d.First), Title: title, Text: b.wasRemoved(run, b.keptOfRow(k, d.First))})
		}
		return out, nil
	}
	return append(out, view.Block{ID: "run-out", Title: b.t("Output"), Text: b.wasRemoved(run, b.keptOfRow(k, run.LastSeq)), More: more}), nil
}
