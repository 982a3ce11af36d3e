package run

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

// damagedParts say what of a run's own row is damaged, each with how it shows.
func (r *request) damagedParts(parts []domain.DamagedPart) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = r.T(part.Damaged[p.Part]) + ": " + kit.Visible(p.Message)
	}
	return out
}

// damagedValue stands in place of a value of the run that is damaged; empty: it is
// not.
func (r *request) damagedValue(run domain.Run, part domain.RunPart) string {
	for _, p := range run.Damaged {
		if p.Part == part || p.Part == domain.PartDetails {
			return r.damagedParts([]domain.DamagedPart{p})[0]
		}
	}
	return ""
}
