// Package event shows events of the audit log in lists of other pages.
package event

import (
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// Row converts an audit event to a row.
func Row(c *ui.Context, e domain.AuditEvent) kit.EventRow {
	row := kit.EventRow{
		Seq:   strconv.FormatInt(e.Seq, 10),
		At:    c.Time(e.At),
		Actor: kit.Escape(e.Actor),
		Event: e.Action,
		Text:  kit.Escape(e.Reason),
	}
	about := c.EventObject(e)
	row.Step, row.Href = about.Text, about.Href
	if e.Result != "ok" {
		row.Event += " (" + e.Result + ")"
	}
	return row
}

// Result returns the result of an action as a status.
func Result(result string) kit.Status {
	switch result {
	case "denied":
		return kit.Word("need", "i-cancel", locale.Mark("denied"), true)
	case "failed":
		return kit.Word("fail", "i-fail", locale.Mark("failed"), true)
	}
	return kit.Word("quiet", "i-ok", locale.Mark("completed"), true)
}
