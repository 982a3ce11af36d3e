package versions

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/schedule"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// declared returns the schedule that a plan declares, or nil. It returns CodeInvalid for times that do
// not exist, and for an input that the plan does not accept.
func declared(p *walk.Program) (*domain.DeclaredSchedule, error) {
	if p.Start.Schedule == nil {
		return nil, nil
	}
	spec, err := domain.SpecOf(*p.Start.Schedule)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "input of the schedule: %w", err)
	}
	if err := schedule.Check(spec, time.Now()); err != nil {
		return nil, err
	}
	input, _ := p.CompleteInput(p.Start.Schedule.Input)
	if p.InputSchema != nil {
		raw, err := jsonvalue.Encode(input)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "input of the schedule: %w", err)
		}
		if err := CheckValue(context.Background(), p.InputSchema, raw, "input of the schedule"); err != nil {
			return nil, err
		}
	}
	if _, failure := p.RunLabels(input); failure != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "labels of the scheduled runs: %w", failure).
			Suggest("give the schedule this input, or add a default with ?? to the reference")
	}
	return &domain.DeclaredSchedule{ScheduleSpec: spec, First: schedule.First}, nil
}
