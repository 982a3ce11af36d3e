package domain

import "time"

// Activity summarizes the calls of an agent, a tool, or a provider in the last 24 hours. It
// survives a restart.
type Activity struct {
	CallCounts            // over 24 hours
	Hour       CallCounts `json:"lastHour"`
	LastCallAt time.Time  `json:"lastCallAt,omitzero"`
	// P50 and P95 are percentiles of the duration of calls. They are zero without calls.
	P50   Millis `json:"p50Ms"`
	P95   Millis `json:"p95Ms"`
	Usage Usage  `json:"usage"`
	// Errors counts failures by code, the most frequent first.
	Errors []ErrorCount `json:"errors,omitempty"`
	// Recent holds the last failures, newest first.
	Recent []CallFailure `json:"recent,omitempty"`
	// Slots of ten minutes each, oldest first. Slots without calls are omitted.
	Slots []CallSlot `json:"slots,omitempty"`
}

// CallCounts counts calls that ended, and how many of them failed.
type CallCounts struct {
	Calls    int64 `json:"calls"`
	Failures int64 `json:"failures"`
}

// ErrorCount counts the failures with one code.
type ErrorCount struct {
	Code  string `json:"code"`
	Count int64  `json:"count"`
}

// CallFailure is a failed call.
type CallFailure struct {
	At      time.Time `json:"failedAt"`
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Run     string    `json:"run,omitempty"` // empty if no run made the call
	Node    string    `json:"node,omitempty"`
}

// CallSlot summarizes the calls of ten minutes, starting at At.
type CallSlot struct {
	At time.Time `json:"startedAt"`
	CallCounts
	Usage Usage `json:"usage,omitzero"`
}

// Since returns the sums over the slots that began at t or later.
func (a Activity) Since(t time.Time) (n CallCounts, u Usage) {
	for _, s := range a.Slots {
		if !s.At.Before(t) {
			n.Calls, n.Failures, u = n.Calls+s.Calls, n.Failures+s.Failures, u.Add(s.Usage)
		}
	}
	return n, u
}

// Disablement records that a person disabled a tool or a provider, or paused a plan.
type Disablement struct {
	Since  time.Time `json:"startedAt"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
}
