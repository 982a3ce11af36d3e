package domain

import (
	"cmp"
	"time"
)

// AuditView is an audit event in the shape that the API, exports and `--json`
// share. Seq and Mac are its place in the chain, so that an export can be compared
// with the database it came from.
type AuditView struct {
	Seq     int64     `json:"seq"`
	At      time.Time `json:"at"`
	Action  string    `json:"action"`
	Actor   string    `json:"actor"`
	Surface string    `json:"surface,omitempty" doc:"The door: ui, api, cli or engine."`
	Address string    `json:"address,omitempty" doc:"Where the request came from."`
	Request string    `json:"request,omitempty" doc:"All records that one request led to have it."`
	Run     string    `json:"run,omitempty"`
	// FirstSeq and RunSeq are the journal rows that a checkpoint stands for.
	FirstSeq int64   `json:"firstSeq,omitempty"`
	RunSeq   int64   `json:"runSeq,omitempty"`
	Object   string  `json:"object,omitempty"`
	Result   string  `json:"result"`
	Reason   string  `json:"reason,omitempty"`
	Detail   RawJSON `json:"detail,omitempty"`
	Mac      string  `json:"mac,omitempty" doc:"The record's link in the chain, if it carries one."`
}

// ViewAudit gives an audit event as it is on the wire.
func ViewAudit(e AuditEvent) AuditView {
	return AuditView{
		Seq:      e.Seq,
		At:       e.At,
		Action:   e.Action,
		Actor:    e.Actor,
		Surface:  e.Surface,
		Address:  e.Request.Address,
		Request:  e.Request.ID,
		Run:      e.Run,
		FirstSeq: e.FirstSeq,
		RunSeq:   e.RunSeq,
		Object:   e.Object,
		Result:   cmp.Or(e.Result, "ok"),
		Reason:   e.Reason,
		Detail:   e.Detail,
		Mac:      e.Mac,
	}
}

// Event gives the audit event that a view shows.
func (v AuditView) Event() AuditEvent {
	return AuditEvent{Seq: v.Seq, At: v.At, FirstSeq: v.FirstSeq, RunSeq: v.RunSeq, Mac: v.Mac,
		AuditRecord: AuditRecord{
			Action:  v.Action,
			Actor:   v.Actor,
			Surface: v.Surface,
			Run:     v.Run,
			Object:  v.Object,
			Result:  v.Result,
			Reason:  v.Reason,
			Detail:  v.Detail,
			Request: Request{ID: v.Request, Address: v.Address},
		}}
}
