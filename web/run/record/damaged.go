package record

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

// DamagedParts say what of a run's own row is damaged, each with how it shows.
func (r *Request) DamagedParts(parts []domain.DamagedPart) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = r.T(part.Damaged[p.Part]) + ": " + kit.Visible(p.Message)
	}
	return out
}

// DamagedValue stands in place of a value of the run that is damaged; empty: it is
// not.
func (r *Request) DamagedValue(run domain.Run, part domain.RunPart) string {
	for _, p := range run.Damaged {
		if p.Part == part || p.Part == domain.PartDetails {
			return r.DamagedParts([]domain.DamagedPart{p})[0]
		}
	}
	return ""
}
