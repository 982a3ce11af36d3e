package approval

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// MaxGroup is the maximum number of requests that one answer decides.
const MaxGroup = 50

// Confirmation returns the decisions that the user made on the previous page, or nil.
func (p Ports) Confirmation(c *ui.Context) (*Confirmation, error) {
	var out Confirmation
	ids := c.Echo.QueryParams()["decided"]
	for _, id := range ids[:min(len(ids), MaxGroup)] {
		a, err := c.Site.App.Approvals.Get(c, c.Principal.Actor(), id)
		if domain.CodeOf(err) == domain.CodeNotFound || err == nil && (a.Status == "pending" || a.DecidedBy != c.Principal.Name) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out.Decided = append(out.Decided, DecidedOf(c, a))
	}
	switch n := len(out.Decided); {
	case n == 0:
		return nil, nil
	case n > 1:
		out.Sum = c.N(n, "%s request decided", "%s requests decided")
	}
	return &out, nil
}

// DecidedOf returns a request with its outcome.
func DecidedOf(c *ui.Context, a domain.Approval) Decided {
	short := domain.ShortID(a.Run)
	return Decided{
		Outcome: outcomeOf(a),
		Request: kit.Link{Text: kit.Escape(kit.Truncate(a.Message, 200)), Href: "/approvals/" + a.ID},
		Run:     kit.Link{Text: c.T("Run %s of %s", short, a.PlanKey), Href: "/runs/" + a.Run},
	}
}

// NotDecided is the outcome of a request that was not decided.
var NotDecided = kit.Word("need", "i-need", locale.Mark("not decided"), true)
