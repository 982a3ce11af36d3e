package domain

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/google/uuid"
)

// idEncoding is Crockford's base32 in lowercase, without i, l, o, and u.
var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// IDLength is the length of an ID.
const IDLength = 26

// NewID returns a new sortable ID: a UUIDv7 in 26 lowercase base32 digits.
func NewID() string {
	id, err := uuid.NewV7()
	if err != nil {
		panic("kairos: no randomness: " + err.Error())
	}
	return IDFrom(id)
}

// IDFrom encodes 16 bytes as an ID.
func IDFrom(b [16]byte) string { return idEncoding.EncodeToString(b[:]) }

// ValidID reports whether s has the form of an ID.
func ValidID(s string) bool {
	if len(s) != IDLength {
		return false
	}
	_, err := idEncoding.DecodeString(s)
	return err == nil
}

// ShortID returns the last four characters of an ID, which people use.
func ShortID(id string) string {
	if len(id) <= 4 {
		return id
	}
	return strings.ToLower(id[len(id)-4:])
}

// TraceOf returns the trace ID of a run. It depends only on the run's ID, so that you can find the
// trace of any run.
func TraceOf(run string) (id [16]byte) {
	sum := sha256.Sum256([]byte("trace\x00" + run))
	copy(id[:], sum[:])
	return id
}
