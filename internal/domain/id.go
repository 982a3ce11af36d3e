package domain

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/google/uuid"
)

// idEncoding is Crockford's base32 in lower case: no i, l, o or u.
var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// IDLength is the length of every id that NewID makes.
const IDLength = 26

// NewID returns a new sortable id: a UUIDv7 in 26 lower-case base32 digits.
func NewID() string {
	id, err := uuid.NewV7()
	if err != nil {
		panic("kairos: no randomness: " + err.Error())
	}
	return IDFrom(id)
}

// IDFrom encodes 16 bytes as an id.
func IDFrom(b [16]byte) string { return idEncoding.EncodeToString(b[:]) }

// ValidID reports whether s has the form of an id.
func ValidID(s string) bool {
	if len(s) != IDLength {
		return false
	}
	_, err := idEncoding.DecodeString(s)
	return err == nil
}

// ShortID is the last four characters of an id, as people call it.
func ShortID(id string) string {
	if len(id) <= 4 {
		return id
	}
	return strings.ToLower(id[len(id)-4:])
}

// TraceOf derives the id of a run's trace from the run's: anyone who sees a run
// can look its trace up where traces are sent to.
func TraceOf(run string) (id [16]byte) {
	sum := sha256.Sum256([]byte("trace\x00" + run))
	copy(id[:], sum[:])
	return id
}
