package domain

import "time"

// DeliveryStatus is the status of a notification.
type DeliveryStatus string

const (
	DeliveryPending DeliveryStatus = "pending"
	DeliverySent    DeliveryStatus = "sent"
	DeliveryFailed  DeliveryStatus = "failed" // no attempts left
)

// Delivery is a notification for one channel. It is sent at least once. Receivers recognize
// repetitions by its ID.
type Delivery struct {
	ID       string         `json:"id"`
	Channel  string         `json:"channel"`
	Kind     string         `json:"kind"`
	Seq      int64          `json:"seq,omitempty" doc:"The audit event that it is about; absent: a test."`
	GroupKey string         `json:"-"` // equal for notifications with the same content about different runs
	More     int64          `json:"more,omitempty" doc:"How many alike came since and were not sent by themselves."`
	Body     RawJSON        `json:"body"`
	Status   DeliveryStatus `json:"status" enum:"pending,sent,failed"`
	// Attempts is the number of attempts so far, and DueAt the time of the next one.
	Attempts  int       `json:"attempts"`
	DueAt     time.Time `json:"dueAt,omitzero"`
	CreatedAt time.Time `json:"createdAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	Error     string    `json:"error,omitempty"`
}

// ChannelInfo describes a notification channel, without its secrets.
type ChannelInfo struct {
	Name   string     `json:"name"`
	Type   string     `json:"type" enum:"webhook,email"`
	Target string     `json:"target" doc:"Where messages go: a host, or addresses."`
	On     []string   `json:"on" doc:"What people are notified of."`
	Plans  []string   `json:"plans,omitempty" doc:"Only of these plans; none: of all."`
	Signed bool       `json:"signed" doc:"Webhooks carry a signature."`
	Last   []Delivery `json:"last" doc:"The newest messages, newest first."`
}
