package domain

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Millis is a duration that JSON represents as a number of milliseconds.
type Millis time.Duration

// Duration returns the duration.
func (m Millis) Duration() time.Duration { return time.Duration(m) }

func (m Millis) String() string { return time.Duration(m).String() }

// Age formats the duration as the configuration writes ages, such as 90d or 12h. It returns "" for
// zero.
func (m Millis) Age() string {
	const day = 24 * time.Hour
	d := time.Duration(m)
	switch {
	case d == 0:
		return ""
	case d%day == 0:
		return strconv.Itoa(int(d/day)) + "d"
	case d%time.Hour == 0:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return d.String()
}

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
