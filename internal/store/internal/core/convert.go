package core

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// Micros converts a time to its stored form: µs since 1970 UTC, or 0 for the zero time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// FromMicros converts a stored time back.
func FromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// JSONText converts JSON to the value of a nullable column.
func JSONText(j domain.RawJSON) *string {
	if j == nil {
		return nil
	}
	s := string(j)
	return &s
}

// RawJSON returns the value of a nullable JSON column.
func RawJSON(s *string) domain.RawJSON {
	if s == nil {
		return nil
	}
	return domain.RawJSON(*s)
}

// OrNull stores an empty text as NULL, which takes no space.
func OrNull(s string) *string {
	if s == "" {
		return nil
	}
	kept := s // only a non-empty text allocates memory
	return &kept
}

// OrEmpty returns the text of a nullable column, or "" for NULL.
func OrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Flag converts a bool to 0 or 1.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// EncodeJSON encodes a small internal structure. This cannot fail.
func EncodeJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("store: " + err.Error())
	}
	return string(b)
}

// Plan maps the row of a plan.
func Plan(p dbsqlc.Plan) domain.Plan {
	out := domain.Plan{
		ID:          p.PublicID,
		Key:         p.Key,
		Name:        p.Name,
		Description: p.Description,
		Latest:      int(p.Latest),
		LatestHash:  p.LatestHash,
		Archived:    p.ArchivedAt != 0,
		Stage:       domain.PlanStage(p.Stage),
		CreatedAt:   FromMicros(p.CreatedAt),
		UpdatedAt:   FromMicros(p.UpdatedAt),
	}
	if p.PausedAt != 0 {
		out.Paused = &domain.Disablement{Since: FromMicros(p.PausedAt), By: p.PausedBy, Reason: p.PausedReason}
	}
	return out
}

// Version maps the row of a plan version.
func Version(v dbsqlc.PlanVersion, planID, planKey string) domain.Version {
	return domain.Version{PlanID: planID, PlanKey: planKey, Number: int(v.Number), Hash: v.Hash, Semantics: int(v.Semantics), Kind: v.Kind,
		Format: v.Format, Source: v.Source, Canonical: v.Canonical, Origin: v.Origin, ByPerson: v.ByPerson != 0, ParentHash: v.ParentHash,
		Reason: v.Reason, Author: v.Author, CreatedAt: FromMicros(v.CreatedAt)}
}

// Run combines a run's hot row and its details. It does not load payloads that input and output
// refer to. Unreadable parts are left out and listed in Damaged.
func Run(r *dbsqlc.Run, d *dbsqlc.RunDetail, planID, planKey string, number int64, hash string) domain.Run {
	out := domain.Run{ID: r.PublicID, PlanID: planID, PlanKey: planKey, Version: int(number),
		ProgramRef: domain.ProgramRef{Hash: hash, Profile: r.Profile},
		Status:     domain.RunStatus(r.Status), WaitReason: domain.WaitReason(r.WaitReason), Headline: r.Headline,
		StatusMessage: domain.DecodeMessage(r.Message, r.Headline), Node: r.Node,
		Input: RawJSON(d.Input), Output: RawJSON(d.Output),
		Lineage: domain.Lineage{ForkedFrom: r.ForkedFrom, ForkSeq: r.ForkSeq, RerunOf: r.RerunOf, Undoes: r.Undoes},
		Actor:   r.Actor, Origin: r.Origin, Session: d.Session, Priority: int(r.Priority), Key: OrEmpty(r.RunKey),
		StartAt: FromMicros(r.StartAt),
		LastSeq: r.LastSeq, Steps: r.Steps, Path: r.Path, DueAt: FromMicros(r.DueAt),
		Usage:   domain.Usage{InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, Cost: r.Cost},
		Crashes: int(r.Crashes), Paused: r.Paused != 0, CreatedAt: FromMicros(r.CreatedAt), StartedAt: FromMicros(r.StartedAt),
		EndedAt: FromMicros(r.EndedAt), RunningTime: time.Duration(r.RunningUs) * time.Microsecond,
		Removal: domain.Removal{
			DeletedAt: FromMicros(r.DeletedAt),
			PurgedAt:  FromMicros(r.PurgedAt),
		}, Fingerprint: r.Fingerprint, Attention: r.Attention != 0}
	if r.Schedule != "" {
		at, err := time.Parse(time.RFC3339, r.Slot)
		if err != nil {
			out.Damaged = []domain.DamagedPart{{Part: domain.PartDetails, Message: err.Error()}}
		}
		out.Slot = domain.RunSlot{Schedule: r.Schedule, At: at}
	}
	if r.ErrorCode != "" {
		out.Error = &domain.RunError{Code: r.ErrorCode, Message: d.ErrorMessage, Node: d.ErrorNode}
		if d.ErrorText != "" {
			out.Error.Text = domain.DecodeMessage(&d.ErrorText, d.ErrorMessage)
		}
	}
	if d.Limits == "" { // the column is never empty
		out.Damaged = []domain.DamagedPart{{Part: domain.PartDetails, Message: "the run has no details: their row is missing or damaged"}}
		return out
	}
	for _, f := range []struct {
		part domain.RunPart
		text string
		into any
	}{{domain.PartLimits, d.Limits, &out.Limits}, {domain.PartLabels, d.Labels, &out.Labels},
		{domain.PartLabels, d.GivenLabels, &out.Labels},
		{domain.PartParent, OrEmpty(d.Parent), &out.Parent}, {domain.PartConcurrency, OrEmpty(d.Concurrency), &out.Concurrency}} {
		if f.text == "" || f.text == "{}" {
			continue
		}
		if err := json.Unmarshal([]byte(f.text), f.into); err != nil {
			out.Damaged = append(out.Damaged, domain.DamagedPart{Part: f.part, Message: err.Error()})
		}
	}
	return out
}

// Reversed reverses an ASCII text.
func Reversed(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

// SlotOf returns the number of the half hour that contains a time in µs.
func SlotOf(us int64) int64 { return us / domain.OutcomeSlot.Microseconds() }

// choices decodes the allowed answers of a request. The caller has checked the seal of an open
// request; the answers of any other request are only shown.
func choices(text string) (list []domain.Answer) {
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	return list
}

// Approval maps the row of an approval request.
func Approval(a dbsqlc.Approval, run string) domain.Approval {
	return domain.Approval{
		ID: a.PublicID, Run: run, PlanKey: a.PlanKey, Node: a.Node, Visit: int(a.Visit), Item: int(a.Item),
		Message: a.Message, Form: RawJSON(a.Form), Tool: a.Tool, Arguments: RawJSON(a.Arguments), Digest: a.Digest,
		Status: a.Status, OnTimeout: a.OnTimeout, DueAt: FromMicros(a.DueAt), CreatedAt: FromMicros(a.CreatedAt),
		StartedBy: a.StartedBy, Rev: a.Rev, Agent: a.Agent, MayAsk: a.MayAsk != 0, Label: a.Label,
		Choices: choices(a.Answers), Assignee: a.Assignee,
		ApprovalDecision: domain.ApprovalDecision{
			DecidedAt: FromMicros(a.DecidedAt),
			DecidedBy: a.DecidedBy,
			Comment:   a.Comment,
			Text:      systemComment(a),
			Values:    RawJSON(a.Entered),
			Answer:    a.Answer,
		},
	}
}

// systemComment returns the reason why the system closed an approval request. It is zero if a
// person closed it.
func systemComment(a dbsqlc.Approval) domain.Message {
	if a.CommentText == "" {
		return domain.Message{}
	}
	return domain.DecodeMessage(&a.CommentText, a.Comment)
}

// ActionCheckpoint is the action of the record that the store adds for every
// checkpoint.
const ActionCheckpoint = "checkpoint"

// ActionCreated is the action of the record that contains the seal of a run.
const ActionCreated = "run.created"

// AuditEvent maps the row of an audit event.
func AuditEvent(e dbsqlc.AuditEvent, run string) domain.AuditEvent {
	out := domain.AuditEvent{Seq: e.Seq, RunSeq: e.RunSeq, FirstSeq: e.FirstSeq, At: FromMicros(e.At),
		AuditRecord: domain.AuditRecord{Action: e.Action, Actor: e.Actor, Source: e.Source, Run: run, Object: e.Object, Result: e.Result,
			Reason: e.Reason, Detail: RawJSON(e.Detail), Request: domain.Request{ID: e.Request, Address: e.Address}}}
	if e.Mac != nil {
		out.Mac = hex.EncodeToString(e.Mac)
	}
	return out
}

// FailureAck maps the row of an acknowledged failure group.
func FailureAck(r dbsqlc.FailureAck, plan string) domain.FailureAck {
	return domain.FailureAck{
		FailureRef: domain.FailureRef{PlanKey: plan, Node: r.Node, Code: r.ErrorCode, Fingerprint: r.Fingerprint},
		Plan:       domain.PlanRef{Key: plan},
		Headline:   r.Headline,
		Message:    domain.DecodeMessage(r.Message, r.Headline),
		Actor:      r.Actor,
		Note:       r.Note,
		Runs:       r.Runs,
		At:         FromMicros(r.At),
	}
}

// storedNote is the stored form of a draft's note. It includes the arguments of its problems.
type storedNote struct {
	domain.DraftNote
	Texts []string `json:"texts,omitempty"`
}

// DraftProgress encodes the notes of a draft.
func DraftProgress(notes []domain.DraftNote) string {
	stored := make([]storedNote, len(notes))
	for i, n := range notes {
		stored[i].DraftNote = n
		for _, m := range n.Problems {
			stored[i].Texts = append(stored[i].Texts, m.Encode())
		}
	}
	return EncodeJSON(stored)
}

// Draft maps the row of a draft.
func Draft(r dbsqlc.Draft) (domain.Draft, error) {
	d := domain.Draft{
		ID:        r.PublicID,
		Actor:     r.Actor,
		Role:      domain.Role(r.Role),
		Source:    r.Source,
		Parent:    r.Parent,
		Revision:  int(r.Revision),
		State:     domain.DraftState(r.State),
		Begun:     int(r.Begun),
		CreatedAt: FromMicros(r.CreatedAt),
		EndedAt:   FromMicros(r.EndedAt),
	}
	var notes []storedNote
	for _, part := range []struct {
		text string
		into any
	}{{r.Request, &d.DraftRequest}, {r.Progress, &notes}, {r.Outcome, &d.DraftOutcome}} {
		if err := json.Unmarshal([]byte(part.text), part.into); err != nil {
			return d, fmt.Errorf("draft %s: %w", d.ID, err)
		}
	}
	d.Progress = make([]domain.DraftNote, len(notes))
	for i, n := range notes {
		for j := range min(len(n.Texts), len(n.Problems)) {
			n.Problems[j] = domain.DecodeMessage(&n.Texts[j], n.Problems[j].String())
		}
		d.Progress[i] = n.DraftNote
	}
	if e := d.Error; e != nil {
		var stored struct{ Text, Advice string }
		if err := json.Unmarshal([]byte(r.Outcome), &stored); err != nil {
			return d, fmt.Errorf("draft %s: %w", d.ID, err)
		}
		e.Text = domain.DecodeMessage(&stored.Text, e.Message)
		e.Advice = domain.DecodeMessage(&stored.Advice, e.Suggestion)
	}
	return d, nil
}

// DraftOutcome is the stored result of planning, with the messages of its error.
func DraftOutcome(o domain.DraftOutcome) string {
	stored := struct {
		domain.DraftOutcome
		Text   string `json:"Text,omitempty"`
		Advice string `json:"Advice,omitempty"`
	}{DraftOutcome: o}
	if o.Error != nil {
		stored.Text, stored.Advice = o.Error.Text.Encode(), o.Error.Advice.Encode()
	}
	return EncodeJSON(stored)
}

// Bulk maps the row of a bulk operation.
func Bulk(r dbsqlc.Bulk) domain.Bulk {
	var labels map[string]string
	if json.Unmarshal([]byte(r.Labels), &labels) != nil || len(labels) == 0 {
		labels = nil // the database checks that the text is JSON, and only this package writes it
	}
	return domain.Bulk{
		ID:        r.PublicID,
		Labels:    labels,
		NotBefore: FromMicros(r.NotBefore),
		Provider:  r.Provider,
		Tool:      r.Tool,
		Action:    domain.Action(r.Action),
		Query:     r.Query,
		Reason:    r.Reason,
		Actor:     r.Actor,
		Role:      domain.Role(r.Role),
		Source:    r.Source,
		Canary:    r.Canary != 0,
		Rate:      int(r.Rate),
		State:     domain.BulkState(r.State),
		Note:      r.Note,
		Total:     r.Total,
		CreatedAt: FromMicros(r.CreatedAt),
		EndedAt:   FromMicros(r.EndedAt),
		Acted:     r.Acted,
		Refused:   r.Refused,
	}
}
