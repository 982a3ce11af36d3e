package record

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

// DamagedParts describes the damaged parts of a run row.
func (r *Request) DamagedParts(parts []domain.DamagedPart) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = r.T(part.Damaged[p.Part]) + ": " + kit.Escape(p.Message)
	}
	return out
}

// DamagedValue returns the text that replaces a damaged part of the run, or an empty string if the
// part is intact.
func (r *Request) DamagedValue(run domain.Run, part domain.RunPart) string {
	for _, p := range run.Damaged {
		if p.Part == part || p.Part == domain.PartDetails {
			return r.DamagedParts([]domain.DamagedPart{p})[0]
		}
	}
	return ""
}
