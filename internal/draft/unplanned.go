package draft

import "github.com/kairosd/kairosd/internal/domain"

// unplanned is an error that the planner did not cause.
func unplanned(code string, text, advice domain.Message) *domain.DraftError {
	e := domain.NewPlanError(code, text, advice)
	e.Recoverable = true
	return &domain.DraftError{Unplanned: true, PlanError: *e}
}

func tryAgain() domain.Message {
	return domain.Messagef("Try again, or choose another provider")
}
