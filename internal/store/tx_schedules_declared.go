package store

import (
	"database/sql"
	"errors"
	"reflect"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// declare makes the declared schedule of a plan what its current version declares. Nil removes it. A
// pause stays.
func (s ScheduleTx) declare(p dbsqlc.Plan, d *domain.DeclaredSchedule) error {
	old, err := s.declaredBy(p)
	switch {
	case err != nil, d == nil && old == nil:
		return err
	case d == nil:
		s.record("schedule.delete", *old, domain.ChangeDetail(old.Detail(), nil))
		return s.Delete(old.ID)
	case old == nil:
		if _, err := s.Get(p.Key); err == nil {
			return domain.Errorf(domain.CodeConflict, "schedule %q exists, and the plan does not declare it", p.Key).
				Suggest("delete that schedule, or remove schedule from the plan")
		}
		x := domain.Schedule{ID: domain.NewID(), Key: p.Key, PlanID: p.PublicID, PlanKey: p.Key, Declared: true, Actor: s.tx.op.By.Name,
			ScheduleSpec: d.ScheduleSpec}
		if x.Next, x.Due, err = d.First(x, s.tx.op.At); err != nil {
			return err
		}
		s.record("schedule.create", x, domain.ChangeDetail(nil, x.Detail()))
		return s.Create(x)
	}
	if reflect.DeepEqual(old.ScheduleSpec, d.ScheduleSpec) {
		return nil
	}
	x := *old
	x.ScheduleSpec, x.Actor = d.ScheduleSpec, s.tx.op.By.Name
	if x.Cron != old.Cron || x.Zone != old.Zone || x.Jitter != old.Jitter {
		if x.Next, x.Due, err = d.First(x, s.tx.op.At); err != nil {
			return err
		}
	}
	s.record("schedule.update", x, domain.ChangeDetail(old.Detail(), x.Detail()))
	return s.Change(x)
}

// declaredBy returns the schedule that a plan declares, or nil.
func (s ScheduleTx) declaredBy(p dbsqlc.Plan) (*domain.Schedule, error) {
	id, err := s.tx.w.q.ScheduleDeclared(s.tx.w.ctx, p.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	x, err := s.Get(id)
	return &x, err
}

func (s ScheduleTx) record(action string, x domain.Schedule, detail domain.RawJSON) {
	s.tx.audit(action, auditRow{record: domain.AuditRecord{Object: "schedule:" + x.Key, Detail: detail}})
}
