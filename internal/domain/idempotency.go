package domain

import "time"

// Receipt records that an operation was carried out with an idempotency key. It is committed with
// the operation.
type Receipt struct {
	// Principal is the author of the request with the interface, such as "ui:ada".
	Principal string
	Operation string
	Key       string
	// Digest is a digest of the request. The key is rejected with any other request.
	Digest string
	// Object is the ID of the object that the operation changed or created.
	Object string
	At     time.Time
}
