package walk

import "time"

// Duration is a time span that documents write in Go's form (`250ms`, `1h30m`).
type Duration time.Duration

// String returns Go's form.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText gives Go's form, as documents write it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads Go's form.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}
