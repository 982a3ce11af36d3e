package run

import (
	"fmt"

	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"

	"github.com/kairosd/kairosd/internal/domain"
)

// damaged returns the banner of a run whose journal is damaged: the damaged row, the last intact
// checkpoint, and the possible actions.
func (b *headPart) damaged() *Why {
	d, run := b.Detail.Damage, b.Detail.Run
	w := &Why{}
	if len(d.Parts) > 0 {
		if w.Items = b.DamagedParts(d.Parts); len(w.Items) == 1 {
			w.Headline, w.Items = w.Items[0], nil
		} else {
			w.Headline = part.DamageHeadline(b.Context, d)
		}
		w.Then = b.T(
			"It cannot be resumed or forked: restore a backup, or start a new run with the same input.",
		) + " " + b.T(
			"The other data is shown as it was written. This run does not change and remains as evidence.",
		)
		w.Links = append(w.Links, kit.Link{Text: b.T("Start a new run like it"), Href: "/runs/new?like=" + run.ID})
		return w
	}
	if d.Row == 0 {
		w.Headline = b.T("The journal of this run cannot be read: %s", kit.Escape(d.Message))
		w.Then = b.T("It cannot be resumed or forked: restore a backup, or start a new run with the same input.")
		w.Links = append(w.Links, kit.Link{Text: b.T("Start a new run like it"), Href: "/runs/new?like=" + run.ID})
		return w
	}
	w.Headline = part.DamageHeadline(b.Context, d)
	w.Then = b.T(
		"The page shows the journal up to row %d. The run cannot be resumed, because nothing replaces a damaged row. "+
			"It remains as evidence.",
		d.Good,
	) + " "
	if d.Checkpoint.Seq > 0 {
		w.Then += b.T("A fork from checkpoint %d continues from there as a new run; its preview shows what runs again.", d.Checkpoint.Seq)
	} else {
		w.Then += b.T("No checkpoint is left. A fork from the input repeats every step as a new run. Its preview lists the steps.")
	}
	w.Then += " " + b.T("kairosd doctor lists every damaged row.")
	if b.Principal.Role.Includes(domain.RoleOperator) {
		w.Links = append(w.Links, kit.Link{Text: b.forkFrom(d), Href: fmt.Sprintf("/runs/%s/fork?at=%d", run.ID, d.Checkpoint.Seq)})
	}
	return w
}

// forkFrom returns the label of the fork.
func (b *headPart) forkFrom(d *domain.Damage) string {
	if d.Checkpoint.Seq == 0 {
		return b.T("Fork from the input…")
	}
	return b.T("Fork from checkpoint %d…", d.Checkpoint.Seq)
}

// damagedActions returns links to the actions that a damaged run allows.
func (b *headPart) damagedActions(link func(text, action string, primary bool) kit.Link) []kit.Link {
	d, run := b.Detail.Damage, b.Detail.Run
	var out []kit.Link
	if d.Row > 0 {
		fork := link(b.forkFrom(d), "fork", true)
		fork.Href = fmt.Sprintf("/runs/%s/fork?at=%d", run.ID, d.Checkpoint.Seq)
		out = append(out, fork, link(b.T("Rerun…"), "rerun", false))
	}
	if run.Status.Final() {
		return append(out, link(b.T("Delete…"), "delete", false))
	}
	return append(out, link(b.T("Cancel…"), "cancel", false))
}
