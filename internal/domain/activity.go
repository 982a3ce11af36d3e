package domain

import "time"

// Activity is how the calls of an agent, a tool or a provider went over the last
// 24 hours. A restart does not forget it.
type Activity struct {
	CallCounts            // of the 24 hours
	Hour       CallCounts `json:"lastHour"`
	LastCallAt time.Time  `json:"lastCallAt,omitzero"`
	// P50 and P95 are how long calls took; zero when there was none.
	P50   Millis `json:"p50Ms"`
	P95   Millis `json:"p95Ms"`
	Usage Usage  `json:"usage"`
	// Errors are the failures by their code, the most frequent first.
	Errors []ErrorCount `json:"errors,omitempty"`
	// Recent are the last failures, the newest first.
	Recent []CallFailure `json:"recent,omitempty"`
	// Slots are ten minutes each, oldest first; one without a call is left out.
	Slots []CallSlot `json:"slots,omitempty"`
}

// CallCounts are calls that ended, and those of them that failed.
type CallCounts struct {
	Calls    int64 `json:"calls"`
	Failures int64 `json:"failures"`
}

// ErrorCount is how often calls failed with a code.
type ErrorCount struct {
	Code  string `json:"code"`
	Count int64  `json:"count"`
}

// CallFailure is a call that failed.
type CallFailure struct {
	At      time.Time `json:"failedAt"`
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Run     string    `json:"run,omitempty"` // empty: no run made the call
	Node    string    `json:"node,omitempty"`
}

// CallSlot is what happened in the ten minutes from At on.
type CallSlot struct {
	At time.Time `json:"startedAt"`
	CallCounts
	Usage Usage `json:"usage,omitzero"`
}

// Since sums the slots that began at a time or later.
func (a Activity) Since(t time.Time) (n CallCounts, u Usage) {
	for _, s := range a.Slots {
		if !s.At.Before(t) {
			n.Calls, n.Failures, u = n.Calls+s.Calls, n.Failures+s.Failures, u.Add(s.Usage)
		}
	}
	return n, u
}

// Stop keeps calls from a tool or a provider, or starts from a plan, until someone ends
// it.
type Stop struct {
	Since  time.Time `json:"since"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
}
