package apitypes

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Hook is an address to which another system delivers events, or a pattern of files.
type Hook struct {
	ID        string              `json:"id"`
	Key       string              `json:"key" doc:"The name of the hook, unique. Its address is /hooks/KEY, unless the scheme is files."`
	Plan      *domain.PlanRef     `json:"plan,omitempty" doc:"The plan that deliveries start; version 0: the current one."`
	Scheme    domain.HookScheme   `json:"scheme" enum:"standard,github,stripe,slack,bearer,files" doc:"How senders prove their identity; files: kairosd finds new files."`
	Secret    string              `json:"secret" doc:"The name of a secret of the configuration; empty: the scheme is files."`
	Files     string              `json:"files" doc:"The pattern of the files that are delivered; empty: another scheme."`
	SettleMs  int64               `json:"settleMs" doc:"How long a file must be unchanged before it is delivered, in milliseconds."`
	Filter    string              `json:"filter" doc:"A CEL expression that selects deliveries; empty: all."`
	Input     string              `json:"input" doc:"A CEL expression that gives the input of the run, or the data of the signal; empty: the body."`
	Signal    string              `json:"signal" doc:"A CEL expression that gives the name of the signal to send; empty: none."`
	SignalKey string              `json:"signalKey" doc:"A CEL expression that gives the key of the signal."`
	Profile   string              `json:"profile,omitempty" doc:"The profile of the plan that the runs have."`
	Labels    map[string]string   `json:"labels,omitempty" doc:"Labels of the runs."`
	Paused    *domain.Disablement `json:"paused,omitempty" doc:"Principal and reason of the pause; absent: the hook is not paused."`
	Last      *HookDelivery       `json:"lastDelivery,omitempty" doc:"The newest delivery, in lists."`
	Actor     string              `json:"actor" doc:"Principal that created the hook or changed it last: the actor of its runs."`
	Rev       int64               `json:"rev" doc:"The revision, which the ETag is made of."`
	CreatedAt time.Time           `json:"createdAt"`
	UpdatedAt time.Time           `json:"updatedAt"`
}

// HookDetail is a single hook with warnings.
type HookDetail struct {
	Hook
	Warnings []string `json:"warnings" doc:"Steps that may change other systems after they read untrusted input."`
}

// HookOf is a hook as the API returns it.
func HookOf(h domain.Hook) Hook {
	out := Hook{ID: h.ID, Key: h.Key, Scheme: h.Scheme, Secret: h.Secret, Files: h.Files, SettleMs: h.Settle.Milliseconds(),
		Filter: h.Filter, Input: h.Input, Signal: h.Signal, SignalKey: h.SignalKey, Profile: h.Profile, Labels: h.Labels, Paused: h.Paused,
		Actor: h.Actor, Rev: h.Rev, CreatedAt: h.CreatedAt, UpdatedAt: h.UpdatedAt}
	if h.PlanID != "" {
		out.Plan = &domain.PlanRef{ID: h.PlanID, Key: h.PlanKey, Version: h.Version}
	}
	if h.Last != nil {
		last := HookDeliveryOf(*h.Last)
		out.Last = &last
	}
	return out
}

// HookCreate is a hook to create.
type HookCreate struct {
	Key string `json:"key" minLength:"1" maxLength:"100" doc:"The name of the hook: letters, digits, and . _ -" example:"orders"`
	HookEdit
}

// HookEdit changes settings of a hook. Absent settings do not change.
type HookEdit struct {
	Plan      *string            `json:"plan,omitempty" maxLength:"128" doc:"The id or key of the plan that deliveries start; empty: none."`
	Version   *int               `json:"version,omitempty" minimum:"0" doc:"The version that runs follow; 0: the current one."`
	Scheme    *domain.HookScheme `json:"scheme,omitempty" enum:"standard,github,stripe,slack,bearer,files" doc:"How senders prove their identity; files: kairosd finds new files."`
	Secret    *string            `json:"secret,omitempty" maxLength:"128" doc:"The name of a secret of the configuration."`
	Files     *string            `json:"files,omitempty" maxLength:"1024" doc:"The pattern of the files that are delivered, an absolute path." example:"/data/in/*.csv"`
	SettleMs  *int64             `json:"settleMs,omitempty" minimum:"1000" maximum:"3600000" doc:"How long a file must be unchanged before it is delivered, in milliseconds; default 5000."`
	Filter    *string            `json:"filter,omitempty" maxLength:"4096" doc:"A CEL expression over body, headers, and id that selects deliveries."`
	Input     *string            `json:"input,omitempty" maxLength:"4096" doc:"A CEL expression that gives the input of the run, or the data of the signal."`
	Signal    *string            `json:"signal,omitempty" maxLength:"4096" doc:"A CEL expression that gives the name of the signal to send."`
	SignalKey *string            `json:"signalKey,omitempty" maxLength:"4096" doc:"A CEL expression that gives the key of the signal."`
	Profile   *string            `json:"profile,omitempty" maxLength:"64" doc:"A profile that the plan declares; empty: none."`
	Labels    *map[string]string `json:"labels,omitempty" doc:"Labels of the runs."`
}

// HookDelivery is a request to a hook.
type HookDelivery struct {
	ID         string               `json:"id"`
	Hook       string               `json:"hook" doc:"The key of the hook."`
	Key        string               `json:"key" doc:"The id of the event, or for a replay, the delivery and the operation. It is accepted once."`
	Event      string               `json:"event" doc:"The id of the event at its sender, also of a replay."`
	Status     domain.DeliveryState `json:"status" enum:"accepted,duplicate,filtered,refused" doc:"The outcome."`
	Reason     string               `json:"reason" doc:"Reason of the refusal; empty: the delivery was accepted."`
	Message    string               `json:"message" doc:"An explanation of the reason."`
	Size       int                  `json:"size" doc:"The size of the body or of the file in bytes."`
	Remote     string               `json:"remote" doc:"The address of the sender."`
	Verified   bool                 `json:"verified" doc:"The sender was verified. Only such deliveries can be replayed."`
	Run        string               `json:"run,omitempty" doc:"The run that it started."`
	Signal     string               `json:"signal,omitempty" doc:"The signal that it sent."`
	ReplayOf   string               `json:"replayOf,omitempty" doc:"The delivery that this one repeats."`
	ReceivedAt time.Time            `json:"receivedAt" doc:"Time of arrival."`
}

// HookDeliveryDetail is a single delivery with its content.
type HookDeliveryDetail struct {
	HookDelivery
	Headers map[string]string `json:"headers" doc:"The headers, without credentials."`
	Body    string            `json:"body" doc:"The body; empty unless the sender was verified."`
}

// HookDeliveryOf is a delivery as the API returns it.
func HookDeliveryOf(d domain.HookDelivery) HookDelivery {
	return HookDelivery{ID: d.ID, Hook: d.Hook, Key: d.Key, Event: d.Event, Status: d.State, Reason: d.Reason, Message: d.Message,
		Size: d.Size, Remote: d.Remote, Verified: d.Verified, Run: d.Run, Signal: d.Signal, ReplayOf: d.ReplayOf, ReceivedAt: d.ReceivedAt}
}

// ReplayCreate replays deliveries to a hook.
type ReplayCreate struct {
	Deliveries []string             `json:"deliveries,omitempty" maxItems:"1000" nullable:"false" doc:"The ids of deliveries; absent: those that the other fields select."`
	Status     domain.DeliveryState `json:"status,omitempty" enum:"accepted,filtered,refused" doc:"Deliveries with this outcome; absent: refused. Of each event, the first is selected, and none if it was accepted later."`
	Since      time.Time            `json:"since,omitzero" doc:"Only deliveries that arrived at or after this time."`
	Canary     bool                 `json:"canary,omitempty" doc:"Replay one delivery first, and the others only if its run does not fail."`
	Rate       int                  `json:"rate,omitempty" minimum:"0" maximum:"60000" doc:"Deliveries per minute; 0: no limit."`
	Reason     string               `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log and with the bulk operation."`
	Digest     string               `json:"digest,omitempty" maxLength:"64" doc:"The digest of a preview: refused if other deliveries are selected now."`
}

// ReplayPreview shows what a replay would do.
type ReplayPreview struct {
	Deliveries []string  `json:"deliveries" doc:"The ids of the deliveries that would be replayed, oldest first."`
	First      time.Time `json:"firstAt,omitzero" doc:"Time of arrival of the first of them."`
	Last       time.Time `json:"lastAt,omitzero" doc:"Time of arrival of the last of them."`
	Digest     string    `json:"digest" doc:"Send it with the replay, so that exactly these deliveries are replayed."`
}
