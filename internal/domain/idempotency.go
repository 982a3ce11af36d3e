package domain

import "time"

// Receipt remembers that an operation was carried out with an idempotency key. It
// commits with what the operation did.
type Receipt struct {
	// Principal is who asked, with the interface: "ui:ada".
	Principal string
	Operation string
	Key       string
	// Digest is of the request. The key is refused with another one.
	Digest string
	// Object is the id of what the operation was about, or made.
	Object string
	At     time.Time
}
