package approval

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// Confirmation is the decision of the reader that led to this page; nil: none did.
func (p Ports) Confirmation(c *ui.Context) (*Confirmation, error) {
	id := c.Query("decided")
	if id == "" {
		return nil, nil
	}
	a, err := c.Site.App.Approvals.Get(c, c.Who.Actor(), id)
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && (a.Status == "open" || a.DecidedBy != c.Who.Name) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := p.Card(c, a)
	if err != nil {
		return nil, err
	}
	return &Confirmation{
		Outcome: v.Outcome,
		Request: kit.Link{Text: v.Message, Href: v.Href},
		Run:     kit.Link{Text: c.T("Run %s of %s", v.Run, v.Plan), Href: v.RunHref},
	}, nil
}
