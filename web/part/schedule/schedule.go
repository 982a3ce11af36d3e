// Package schedule formats schedules for the pages of several sections.
package schedule

import (
	"net/url"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/ui"
)

// Address returns the address of the page of a schedule.
func Address(key string) string { return "/schedules/" + url.PathEscape(key) }

// Missed returns the number of missed slots and their times.
func Missed(c *ui.Context, m domain.MissedSlots) string {
	first, last := c.Time(m.First).Text, c.Time(m.Last).Text
	switch {
	case m.Slots == 1:
		return c.T("1 slot missed, at %s", last)
	case m.More:
		return c.T("More than %s slots missed, %s to %s", c.Number(int64(m.Slots)), first, last)
	}
	return c.T("%s slots missed, %s to %s", c.Number(int64(m.Slots)), first, last)
}
