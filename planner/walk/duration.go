package walk

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDuration parses a duration as Go writes it, optionally with days in front: `2d`, `1d12h`.
func ParseDuration(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	n, err := strconv.ParseUint(days, 10, 32)
	if !found || err != nil || n > uint64(math.MaxInt64/int64(24*time.Hour)) {
		return time.ParseDuration(text)
	}
	d := time.Duration(n) * 24 * time.Hour //nolint:gosec // checked above
	if rest == "" {
		return d, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || more < 0 || d+more < d {
		return time.ParseDuration(text)
	}
	return d + more, nil
}

// Duration is a time span that documents write as Go does: `250ms`, `1h30m`, `2d`.
type Duration time.Duration

// String returns the duration as Go writes it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText returns the duration as Go and documents write it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a duration with [ParseDuration].
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	*d = Duration(v)
	return err
}
