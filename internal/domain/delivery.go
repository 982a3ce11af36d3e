package domain

import "time"

// Notification is the JSON body of a webhook. Text alone is a complete notification, for receivers
// that show nothing else.
type Notification struct {
	ID        string    `json:"id" doc:"The id of the message. A repeated delivery has the same id."`
	Kind      string    `json:"kind" doc:"Event that the message reports."`
	CreatedAt time.Time `json:"createdAt" doc:"Time of the event."`
	Text      string    `json:"text" doc:"The whole message, for receivers that show only text."`
	// Run is absent if the message is not about a run.
	Run *NotificationRun `json:"run,omitempty" doc:"The run that the message is about, as it was at that time."`
	// More is the number of suppressed messages like this one since the previous message.
	More int64 `json:"more,omitempty" doc:"Number of messages like this one that were not sent."`
}

// NotificationRun is the run of a notification.
type NotificationRun struct {
	ID         string     `json:"id" doc:"The run's id."`
	Plan       PlanRef    `json:"plan"`
	Status     RunStatus  `json:"status"`
	WaitReason WaitReason `json:"waitReason,omitempty"`
	Headline   string     `json:"statusMessage,omitempty"`
	Node       string     `json:"node,omitempty" doc:"The step that failed."`
	Code       string     `json:"code,omitempty" doc:"The error code of the step."`
	URL        string     `json:"url,omitempty" doc:"The page of the run."`
}

// NotificationKinds are the kinds of notifications that a channel can select.
var NotificationKinds = []string{"failed", "completed", "cancelled", "approval", "in_doubt", "quarantined", "held", "budget", "system"}

// NotificationTest is the kind of a test message.
const NotificationTest = "test"

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
	More     int64          `json:"more,omitempty" doc:"Number of messages like this one that were not sent."`
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
	Target string     `json:"target" doc:"Destination of the messages: a host, or addresses."`
	On     []string   `json:"on" doc:"The kinds of notifications."`
	Plans  []string   `json:"plans,omitempty" doc:"Only runs of these plans; empty: all plans."`
	Signed bool       `json:"signed" doc:"Webhooks carry a signature."`
	Last   []Delivery `json:"last" doc:"The newest messages, newest first."`
}
