package approvals

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/approval"
	"github.com/kairosd/kairosd/web/part/schedule"
	"github.com/kairosd/kairosd/web/ui"
)

// missedSlots returns the entries of schedules with missed slots that wait for a decision. plan, if
// not empty, restricts them to a plan.
func (s *section) missedSlots(c *ui.Context, plan string) (out []approval.Request, err error) {
	list, err := s.App.Schedules.List(c, c.Principal.Actor(),
		domain.ScheduleFilter{State: "missed", Page: domain.Page{Limit: maxQuestions}})
	if err != nil {
		return nil, err
	}
	for _, x := range list.Items {
		if x.Missed == nil || plan != "" && plan != x.PlanKey {
			continue
		}
		at := schedule.Address(x.Key)
		r := approval.Request{
			Role: "need", Kind: kit.Link{Text: c.T("Missed slots · %s", x.PlanKey), Href: link.Plan(x.PlanKey)},
			Text: schedule.Missed(c, *x.Missed), Href: at, Since: c.Time(x.Missed.CreatedAt), Remark: x.Key,
		}
		if c.Principal.Role.Includes(domain.RoleOperator) {
			r.Actions = []kit.Link{{Text: c.T("Decide…"), Href: at + "/missed", Dialog: true}}
		}
		out = append(out, r)
	}
	return out, nil
}
