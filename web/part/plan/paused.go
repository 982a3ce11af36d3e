package plan

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// Paused describes when, by whom, and why a plan was paused.
func Paused(c *ui.Context, s *domain.Disablement) string {
	text := c.T("Paused since %s by %s.", c.Time(s.Since).Text, kit.Escape(s.By))
	if s.Reason != "" {
		text += " " + kit.Escape(s.Reason)
	}
	return text
}
