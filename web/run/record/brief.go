package record

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/kit"
)

// Brief returns a value as one short text.
func Brief(raw domain.RawJSON) string {
	if raw == nil {
		return ""
	}
	v, err := jsonvalue.Decode(raw)
	if err != nil {
		return kit.Shorten(kit.Escape(string(raw)))
	}
	return kit.Shorten(kit.Escape(jsonvalue.Text(v)))
}

// Short returns a value as one line.
func Short(v any) string {
	j, err := jsonvalue.Encode(v)
	if err != nil {
		return "…"
	}
	return kit.Escape(kit.Truncate(string(j), 60))
}
