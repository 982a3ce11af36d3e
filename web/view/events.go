package view

// EventRow is one journal row or audit event.
type EventRow struct {
	Seq, What, Where, Who, Text string
	Href                        string // of what it is about
	At                          Time
	Status                      Status
}
