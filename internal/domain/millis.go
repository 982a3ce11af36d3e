package domain

import (
	"encoding/json"
	"fmt"
	"time"
)

// Millis is a duration that JSON represents as a number of milliseconds.
type Millis time.Duration

// Duration returns the duration.
func (m Millis) Duration() time.Duration { return time.Duration(m) }

func (m Millis) String() string { return time.Duration(m).String() }

// MarshalJSON writes the milliseconds, with a fraction if necessary.
func (m Millis) MarshalJSON() ([]byte, error) {
	return json.Marshal(float64(m) / float64(time.Millisecond))
}

// UnmarshalJSON reads milliseconds.
func (m *Millis) UnmarshalJSON(text []byte) error {
	var n float64
	if err := json.Unmarshal(text, &n); err != nil {
		return fmt.Errorf("a duration in milliseconds: %w", err)
	}
	*m = Millis(n * float64(time.Millisecond))
	return nil
}
