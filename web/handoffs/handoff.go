package handoffs

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/handoff"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/detail"
	part "github.com/kairosd/kairosd/web/part/handoff"
	"github.com/kairosd/kairosd/web/ui"
)

// similar is the maximum number of suggested handoffs if one is not found.
const similar = 8

// handoff serves the page of a handoff.
func (s *section) handoff(c *ui.Context) error {
	id := c.Param("handoff")
	h, err := s.Reader.Handoff(c, id)
	if err != nil {
		return s.noHandoff(c, id, err)
	}
	d, err := s.Engine.Detail(c, h.Run)
	if err != nil {
		return err
	}
	messages, err := s.Reader.Conversation(c, h.Run)
	if err != nil {
		return err
	}
	shown := part.Of(c, handoff.In(d, messages.Messages).Of(h.Handoff, c.Site.Now()), s.Engine.Catalog())
	return c.Render(http.StatusOK, Handoff(handoffPage(c, h.Handoff, d.Run, shown)))
}

func handoffPage(c *ui.Context, h domain.Handoff, run domain.Run, shown detail.Detail) HandoffPage {
	p := HandoffPage{
		Shell:  c.Shell("handoffs", kit.Escape(handoff.Short(h))+" · "+run.PlanKey+" · "+domain.ShortID(run.ID)),
		Detail: shown,
		Run:    kit.Link{Text: domain.ShortID(run.ID), Href: "/runs/" + run.ID + "?view=handoffs"},
		Plan:   kit.Link{Text: run.PlanKey, Href: "/plans/" + url.PathEscape(run.PlanKey)},
	}
	p.Detail.Page = ""
	return p
}

// noHandoff renders an error page that suggests handoffs with a similar ID.
func (s *section) noHandoff(c *ui.Context, id string, missing error) error {
	if domain.CodeOf(missing) != domain.CodeNotFound {
		return missing
	}
	p := kit.ErrorPage{
		Lists: c.Lists(), Shell: c.Shell("handoffs", "Not found"), Code: http.StatusNotFound, Headline: c.T("Not found"),
		Message:      c.T("Handoff %s not found.", kit.Escape(kit.Truncate(id, 200))),
		SimilarTitle: c.T("Handoffs with a matching ID"), Links: []kit.Link{{Text: c.T("All handoffs"), Href: "/handoffs"}},
	}
	list, err := s.Reader.HandoffsLike(c, id, similar)
	if err != nil {
		return err
	}
	for _, h := range list {
		text := fmt.Sprintf(
			"%s · %s · %s · %s",
			kit.Escape(handoff.Short(h.Handoff)),
			h.Plan.Key,
			domain.ShortID(h.Run),
			c.Time(h.At).Text,
		)
		p.Similar = append(p.Similar, kit.Link{Text: text, Href: "/handoffs/" + url.PathEscape(h.ID)})
	}
	return c.Render(p.Code, kit.Error(p))
}
