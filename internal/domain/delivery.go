package domain

import "time"

// DeliveryStatus is how a message to the outside is.
type DeliveryStatus string

const (
	DeliveryPending DeliveryStatus = "pending"
	DeliverySent    DeliveryStatus = "sent"
	DeliveryFailed  DeliveryStatus = "failed" // given up
)

// Delivery is a message about something that happened, for one channel. It is
// sent at least once: receivers tell repetitions by its id.
type Delivery struct {
	ID      string         `json:"id"`
	Channel string         `json:"channel"`
	Kind    string         `json:"kind"`
	Seq     int64          `json:"seq,omitempty" doc:"The audit event that it is about; absent: a test."`
	Like    string         `json:"-"` // the same for messages that say the same of another run
	More    int64          `json:"more,omitempty" doc:"How many alike came since and were not sent by themselves."`
	Body    RawJSON        `json:"body"`
	Status  DeliveryStatus `json:"status" enum:"pending,sent,failed"`
	// Attempts that were made; DueAt is when the next one is.
	Attempts  int       `json:"attempts"`
	DueAt     time.Time `json:"dueAt,omitzero"`
	CreatedAt time.Time `json:"createdAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	Error     string    `json:"error,omitempty"`
}

// ChannelInfo is a way in which people are notified, as it is configured: never its
// secrets.
type ChannelInfo struct {
	Name   string     `json:"name"`
	Type   string     `json:"type" enum:"webhook,email"`
	Target string     `json:"target" doc:"Where messages go: a host, or addresses."`
	On     []string   `json:"on" doc:"What people are notified of."`
	Plans  []string   `json:"plans,omitempty" doc:"Only of these plans; none: of all."`
	Signed bool       `json:"signed" doc:"Webhooks carry a signature."`
	Last   []Delivery `json:"last" doc:"The newest messages, newest first."`
}
