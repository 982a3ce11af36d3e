package approvals

import (
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/part/approval"
	"github.com/kairosd/kairosd/web/ui"
)

// requestedActions returns the entries of actions that MCP clients ask a person to confirm. plan, if not empty,
// restricts them to a plan.
func (s *section) requestedActions(c *ui.Context, plan string) (out []approval.Request, err error) {
	list, err := s.App.Runs.Requested(c, c.Principal.Actor())
	for _, q := range list {
		if plan == "" || plan == q.Plan {
			out = append(out, approval.RequestedAction(c, q, c.May(app.ConfirmAction)))
		}
	}
	return out, err
}
