package run

import (
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// Note is a note of a person about a run.
type Note struct {
	Author, Text string
	At           kit.Time
}

// Notes returns the notes about a run, in order.
func Notes(c *ui.Context, a *app.App, run string) ([]Note, error) {
	notes, err := a.Runs.Notes(c, c.Principal.Actor(), run)
	if err != nil {
		return nil, err
	}
	var out []Note
	for _, n := range notes {
		out = append(out, Note{Author: kit.Escape(n.Actor), Text: kit.Escape(n.Text), At: c.Time(n.At)})
	}
	return out, nil
}
