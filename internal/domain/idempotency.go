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
