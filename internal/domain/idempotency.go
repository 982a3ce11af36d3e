package domain

import "time"

// StoredResponse is the answer to a request that carried an Idempotency-Key: the
// same request, sent again, gets the same answer.
type StoredResponse struct {
	Principal string
	Route     string // method and path
	Key       string
	BodyHash  string // hex SHA-256 of the request's body and media type
	Status    int    // 0: not answered yet
	Header    map[string]string
	Body      []byte
	CreatedAt time.Time
}

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
