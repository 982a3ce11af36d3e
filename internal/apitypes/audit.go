package apitypes

import (
	"cmp"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// AuditEvent is a record of the audit log in the form of the API, exports, and --json. Seq and Mac
// are its position in the hash chain, so that an export can be compared with its database.
type AuditEvent struct {
	Seq       int64          `json:"seq" doc:"The number of the record, without gaps."`
	CreatedAt time.Time      `json:"createdAt"`
	Action    string         `json:"action" doc:"The action, such as run.created or login."`
	Actor     string         `json:"actor" doc:"Principal that acted: a user, a token, or a part of kairosd."`
	Source    string         `json:"source,omitempty" doc:"The interface: ui, api, cli, or engine."`
	Address   string         `json:"address,omitempty" doc:"The address that the request came from."`
	Request   string         `json:"request,omitempty" doc:"Equal for all records of one request."`
	Run       string         `json:"run,omitempty" doc:"The run's id."`
	FirstSeq  int64          `json:"firstSeq,omitempty" doc:"The first journal row of a checkpoint."`
	RunSeq    int64          `json:"runSeq,omitempty" doc:"The last journal row of a checkpoint."`
	Object    string         `json:"object,omitempty" doc:"Object of the action, such as plan:invoice."`
	Result    string         `json:"result" enum:"ok,denied,failed" doc:"Whether the action was carried out."`
	Reason    string         `json:"reason,omitempty" doc:"The reason that was given, or why the action was denied."`
	Detail    domain.RawJSON `json:"detail,omitempty" doc:"Details of the action."`
	Mac       string         `json:"mac,omitempty" doc:"The link of the hash chain, if the record has one."`
}

// AuditEventOf returns a record as the API sends it.
func AuditEventOf(e domain.AuditEvent) AuditEvent {
	return AuditEvent{Seq: e.Seq, CreatedAt: e.At, Action: e.Action, Actor: e.Actor, Source: e.Source, Address: e.Request.Address,
		Request: e.Request.ID, Run: e.Run, FirstSeq: e.FirstSeq, RunSeq: e.RunSeq, Object: e.Object, Result: cmp.Or(e.Result, "ok"),
		Reason: e.Reason, Detail: e.Detail, Mac: e.Mac}
}

// Domain returns the record as the domain has it.
func (e AuditEvent) Domain() domain.AuditEvent {
	return domain.AuditEvent{Seq: e.Seq, At: e.CreatedAt, FirstSeq: e.FirstSeq, RunSeq: e.RunSeq, Mac: e.Mac,
		AuditRecord: domain.AuditRecord{Action: e.Action, Actor: e.Actor, Source: e.Source, Run: e.Run, Object: e.Object,
			Result: e.Result, Reason: e.Reason, Detail: e.Detail, Request: domain.Request{ID: e.Request, Address: e.Address}}}
}
