package web

import (
	"fmt"

	part "github.com/kairosd/kairosd/web/part/run"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// This file is what the pages say of a run whose journal is damaged.

// rowProblems say what is wrong with a row; each is followed by its number.
var rowProblems = map[domain.RowProblem]string{domain.RowChecksum: locale.Mark("Row %d of the journal fails its checksum"), domain.RowMissing: locale.Mark("Row %d of the journal is missing"),
	domain.RowValue: locale.Mark("Row %d of the journal names a value that is damaged or gone"), domain.RowMisfit: locale.Mark("Row %d of the journal contradicts the rows before it")}

// damagedParts say what of a run's own row is damaged, each with how it shows.
func (r *request) damagedParts(parts []domain.DamagedPart) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = r.t(part.Damaged[p.Part]) + ": " + visible(p.Message)
	}
	return out
}

// damagedValue stands in place of a value of the run that is damaged; empty: it is
// not.
func (r *request) damagedValue(run domain.Run, part domain.RunPart) string {
	for _, p := range run.Damaged {
		if p.Part == part || p.Part == domain.PartDetails {
			return r.damagedParts([]domain.DamagedPart{p})[0]
		}
	}
	return ""
}

// damaged is the banner of a run whose journal is damaged: which row it is, what the
// last good checkpoint is, and what can be done.
func (b *runPage) damaged() *view.Why {
	d, run := b.d.Damage, b.d.Run
	w := &view.Why{}
	if len(d.Parts) > 0 {
		if w.Items = b.damagedParts(d.Parts); len(w.Items) == 1 {
			w.Headline, w.Items = w.Items[0], nil
		} else {
			w.Headline = b.damageHeadline(d)
		}
		w.Then = b.t("It cannot go on or be forked: restore a backup, or start a new run like it.") + " " + b.t("What else is shown is as it was written; this run stays as it is, as evidence.")
		w.Links = append(w.Links, view.Link{Text: b.t("Start a new run like it"), Href: "/runs/new?like=" + run.ID})
		return w
	}
	if d.Row == 0 {
		w.Headline = b.t("The journal of this run cannot be read: %s", visible(d.Message))
		w.Then = b.t("It cannot go on or be forked: restore a backup, or start a new run like it.")
		w.Links = append(w.Links, view.Link{Text: b.t("Start a new run like it"), Href: "/runs/new?like=" + run.ID})
		return w
	}
	w.Headline = b.damageHeadline(d)
	w.Then = b.t("What is below is what the journal says until row %d. The run cannot be resumed: nothing is put in place of a damaged row, and this run stays as it is, as evidence.", d.Good) + " "
	if d.Checkpoint.Seq > 0 {
		w.Then += b.t("A fork from checkpoint %d goes on from there as a new run; its preview says what runs again.", d.Checkpoint.Seq)
	} else {
		w.Then += b.t("No checkpoint is left: a fork from its input does everything again as a new run; its preview says what.")
	}
	w.Then += " " + b.t("kairosd doctor lists every damaged row.")
	if b.who.Role.Includes(domain.RoleOperator) {
		w.Links = append(w.Links, view.Link{Text: b.forkFrom(d), Href: fmt.Sprintf("/runs/%s/fork?at=%d", run.ID, d.Checkpoint.Seq)})
	}
	return w
}

// damageHeadline is the finding in one line.
func (r *request) damageHeadline(d *domain.Damage) string {
	if len(d.Parts) > 0 {
		return r.t(part.Damaged[d.Parts[0].Part])
	}
	problem := domain.RowChecksum
	if len(d.Rows) > 0 {
		problem = d.Rows[0].Problem
	}
	what := r.t(rowProblems[problem], d.Row)
	if d.Checkpoint.Seq == 0 {
		return r.t("%s; no checkpoint before it is left", what)
	}
	return r.t("%s; checkpoint %d (%s) is the last good one", what, d.Checkpoint.Seq, r.pointName(d.Checkpoint))
}

// forkFrom names the act that goes on.
func (r *request) forkFrom(d *domain.Damage) string {
	if d.Checkpoint.Seq == 0 {
		return r.t("Fork from the input…")
	}
	return r.t("Fork from checkpoint %d…", d.Checkpoint.Seq)
}

// damagedActions are the acts that a damaged run allows.
func (b *runPage) damagedActions(link func(text, action string, primary bool) view.Link) []view.Link {
	d, run := b.d.Damage, b.d.Run
	var out []view.Link
	if d.Row > 0 {
		fork := link(b.forkFrom(d), "fork", true)
		fork.Href = fmt.Sprintf("/runs/%s/fork?at=%d", run.ID, d.Checkpoint.Seq)
		out = append(out, fork, link(b.t("Rerun…"), "rerun", false))
	}
	if run.Status.Final() {
		return append(out, link(b.t("Delete…"), "delete", false))
	}
	return append(out, link(b.t("Cancel…"), "cancel", false))
}
