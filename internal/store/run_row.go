package store

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/store/internal/incoming"
)

// pathLimit limits the path summary of a run in lists.
const pathLimit = 64

func clipPath(s string) string {
	if len(s) > pathLimit {
		return s[:pathLimit]
	}
	return s
}

// hotOnly reports whether a patch changes only journal position, steps, path, and headline.
func hotOnly(p *domain.RunPatch) bool {
	return p == nil || p.Status == "" && p.Output == nil && p.Error == nil && !p.ClearError && p.Hash == "" &&
		p.DueAt == nil && p.AddUsage.Zero() && p.Silent == nil && p.Crashes == nil && p.Paused == nil && p.Limits == nil &&
		len(p.AddLabels) == 0 &&
		p.StartedAt == nil && p.EndedAt == nil &&
		p.RunningTime == nil && p.DeletedAt == nil
}

// advance writes all columns that a patch may change.
func (p *prepared) advance(w *writer, before, next *runState) (int64, error) {
	patch := p.c.Patch
	if patch.Status != "" {
		next.Status, next.WaitReason = string(patch.Status), string(patch.WaitReason)
		if !domain.CanMove(domain.RunStatus(before.Status), patch.Status) {
			return 0, domain.Errorf(domain.CodeConflict, "a run that is %s cannot become %s", before.Status, patch.Status)
		}
		if domain.RunStatus(before.Status).Final() && !patch.Status.Final() {
			// Retention may have come first and deleted the journal.
			if purged, err := w.q.RunPurgedAt(w.ctx, p.rowID); err != nil {
				return 0, err
			} else if purged != 0 {
				return 0, domain.Errorf(domain.CodeConflict, "retention deleted the journal of run %s", domain.ShortID(p.c.Run))
			}
		}
	}
	set := func(into *string, from *string) {
		if from != nil {
			*into = *from
		}
	}
	next.setHeadline(patch)
	set(&next.Node, patch.Node)
	if patch.Error != nil {
		next.ErrorCode, next.Fingerprint = patch.Error.Code, patch.Error.Fingerprint()
	}
	if patch.ClearError {
		next.ErrorCode, next.Fingerprint = "", ""
	}
	if patch.Hash != "" {
		v, err := w.planVersionOf(patch.Hash)
		if err != nil {
			return 0, err
		}
		next.VersionID = v.ID
	}
	if patch.DueAt != nil {
		next.DueAt = core.Micros(*patch.DueAt)
	}
	if patch.Crashes != nil {
		next.Crashes = int64(*patch.Crashes)
	}
	if patch.Paused != nil {
		next.Paused = core.Flag(*patch.Paused)
	}
	if patch.StartedAt != nil {
		next.StartedAt = core.Micros(*patch.StartedAt)
	}
	if patch.EndedAt != nil {
		next.EndedAt = core.Micros(*patch.EndedAt)
	}
	if patch.RunningTime != nil {
		next.RunningUs = patch.RunningTime.Microseconds()
	}
	if patch.DeletedAt != nil {
		next.DeletedAt = core.Micros(*patch.DeletedAt)
	}
	final := domain.RunStatus(next.Status).Final()
	if final && next.EndedAt == 0 {
		next.EndedAt = w.s.now().UnixMicro()
	}
	if !final {
		next.EndedAt = 0
	}
	// The run that started a child run decides what follows from its failure.
	parents := next.ParentRun != "" && next.Status == string(domain.RunFailed)
	next.Attention = core.Flag(
		next.Origin != domain.OriginDry && !parents &&
			(core.NeedsAttention(next.Status, next.WaitReason, next.DeletedAt) || troubled(before, next, patch)),
	)
	n, err := p.update(w, before, next)
	if n != 1 || err != nil {
		return n, err
	}
	if next.VersionID != before.VersionID {
		if err := w.q.RunRepin(w.ctx, next.VersionID, p.rowID); err != nil {
			return 0, err
		}
	}
	if next.DeletedAt != before.DeletedAt {
		if err := w.q.RunDelete(w.ctx, next.DeletedAt, next.Attention, p.rowID); err != nil {
			return 0, err
		}
	}
	if next.Status != before.Status || next.WaitReason != before.WaitReason || next.Attention != before.Attention ||
		next.DeletedAt != before.DeletedAt {
		w.tally.count(before, -1)
		w.tally.count(next, 1)
	}
	if failed := string(domain.RunFailed); next.Status != before.Status && (next.Status == failed || before.Status == failed) {
		if err := w.wordsOf(p.rowID); err != nil {
			return 0, err
		}
	}
	if final && !domain.RunStatus(before.Status).Final() && next.Origin != domain.OriginDry && next.Origin != domain.OriginUndo &&
		next.Origin != domain.OriginBlock {
		w.tally.outcomes[endedKey{next.PlanID, core.SlotOf(next.EndedAt), next.VersionID, next.Status}]++
	}
	return n, nil
}

// update writes the run's row. It writes all columns only if the status changes, because every
// list's index contains the status.
func (p *prepared) update(w *writer, before, next *runState) (int64, error) {
	patch := p.c.Patch
	if next.Status == before.Status && next.WaitReason == before.WaitReason && next.Attention == before.Attention &&
		next.EndedAt == before.EndedAt &&
		next.Fingerprint == before.Fingerprint {
		return w.q.RunProgress(w.ctx, dbsqlc.RunProgressParams{LastSeq: next.LastSeq, AddSteps: patch.AddSteps, Path: next.Path,
			Headline: next.Headline, Message: next.Message, Node: next.Node, ErrorCode: next.ErrorCode, DueAt: next.DueAt,
			AddInputTokens: patch.AddUsage.InputTokens, AddOutputTokens: patch.AddUsage.OutputTokens, AddCost: patch.AddUsage.Cost,
			Crashes: next.Crashes, Paused: next.Paused, StartedAt: next.StartedAt, RunningUs: next.RunningUs, ID: p.rowID,
			Fence: p.c.Fence})
	}
	return w.q.RunAdvance(w.ctx, dbsqlc.RunAdvanceParams{LastSeq: next.LastSeq, AddSteps: patch.AddSteps, Path: next.Path,
		Headline: next.Headline, Message: next.Message, Node: next.Node, ErrorCode: next.ErrorCode, DueAt: next.DueAt,
		AddInputTokens: patch.AddUsage.InputTokens, AddOutputTokens: patch.AddUsage.OutputTokens, AddCost: patch.AddUsage.Cost,
		Crashes: next.Crashes, Paused: next.Paused, StartedAt: next.StartedAt, RunningUs: next.RunningUs,
		Status: next.Status, WaitReason: next.WaitReason, Attention: next.Attention, EndedAt: next.EndedAt,
		Fingerprint: next.Fingerprint, ID: p.rowID, Fence: p.c.Fence})
}

// troubled reports a run with many attempts, or without progress.
func troubled(before, next *runState, patch *domain.RunPatch) bool {
	if next.DeletedAt != 0 {
		return false
	}
	same := next.Status == before.Status && next.WaitReason == before.WaitReason && before.Attention != 0
	switch {
	case next.Status == string(domain.RunRunning) && patch.Silent != nil:
		return *patch.Silent
	case next.Status == string(domain.RunRunning):
		return same
	case next.WaitReason == string(domain.WaitRetry):
		return same || patch.Retrying >= domain.StubbornAttempts
	}
	return false
}

// details writes the columns outside the hot row.
func (p *prepared) details(w *writer) error {
	if patch := p.c.Patch; patch != nil {
		if patch.Output != nil || patch.Error != nil || patch.ClearError {
			d := dbsqlc.RunDetailOutputParams{Output: p.output, RunID: p.rowID}
			if patch.Error != nil {
				d.ErrorMessage, d.ErrorText, d.ErrorNode = patch.Error.Message, patch.Error.Text.Encode(), patch.Error.Node
			}
			if err := w.q.RunDetailOutput(w.ctx, d); err != nil {
				return err
			}
		}
		if patch.Limits != nil {
			if err := w.q.RunDetailLimits(w.ctx, core.EncodeJSON(patch.Limits), p.rowID); err != nil {
				return err
			}
		}
		if len(patch.AddLabels) > 0 {
			if err := w.addLabels(p.c.Run, patch.AddLabels); err != nil {
				return err
			}
		}
	}
	for _, h := range p.c.Handoffs {
		if err := w.q.HandoffInsert(w.ctx, dbsqlc.HandoffInsertParams{PublicID: h.ID, RunID: p.rowID, Seq: h.Seq, FromAgent: h.From,
			ToAgent: h.To,
			Node:    h.Node, Reason: h.Reason, Context: h.Context, At: core.Micros(h.At)}); err != nil {
			return err
		}
	}
	for _, m := range p.messages {
		if err := w.q.MessageInsert(w.ctx, m); err != nil {
			return err
		}
	}
	if m := p.c.Memory; m != nil {
		if err := w.q.MemoryInsert(w.ctx, memoryParams(*m, p.rowID)); err != nil {
			return err
		}
	}
	for _, m := range p.c.SkillRuns {
		if err := w.measure(m); err != nil {
			return err
		}
	}
	for _, r := range p.c.Receipts {
		if err := w.keepReceipt(r); err != nil {
			return err
		}
	}
	for _, u := range p.c.Uses {
		if err := w.q.RunUsePut(w.ctx, u.Kind, u.Name, p.rowID); err != nil {
			return err
		}
	}
	for _, a := range p.c.Approvals {
		if err := w.q.ApprovalPut(w.ctx, w.s.approvalParams(a, p.rowID)); err != nil {
			return err
		}
	}
	if len(p.c.Waits) > 0 {
		return incoming.New(w.ctx, w.q, w.s.now()).Waits(p.rowID, p.c.Waits)
	}
	return nil
}
