package agents

import (
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/vital"
	"github.com/kairosd/kairosd/web/ui"
)

// pulseStep is the time that one bar of the 24-hour chart covers.
const pulseStep = 30 * time.Minute

// highFailureShare is the share of failed calls in the last hour from which the figure is marked.
const highFailureShare = 0.2

// pulse summarizes the calls of the last 24 hours as a chart and as text.
func (s *section) pulse(c *ui.Context, a domain.Activity) Pulse {
	p := Pulse{Calls: c.Number(a.Calls), Last: c.Time(a.LastCallAt), Text: c.T("no call")}
	if a.P95 > 0 {
		p.P95 = vital.Span(a.P95.Duration())
	}
	if a.Hour.Calls > 0 {
		share := float64(a.Hour.Failures) / float64(a.Hour.Calls)
		p.Share, p.Bad = c.T("%s of %s", c.Number(a.Hour.Failures), c.Number(a.Hour.Calls)), share >= highFailureShare
		if a.Hour.Failures > 0 {
			p.Share += " (" + c.Display.Lang.Percent(math.Ceil(share*100)/100) + ")"
		}
	}
	if a.Calls == 0 {
		return p
	}
	p.Text = c.N(int(a.Calls), "%s call", "%s calls")
	if a.Failures > 0 {
		p.Failed = c.Number(a.Failures)
		p.Text += ", " + c.N(int(a.Failures), "%s failed", "%s failed")
	}
	const slots = int(24 * time.Hour / pulseStep)
	var calls, failed [slots]int64
	first := c.Site.Now().Truncate(pulseStep).Add(-time.Duration(slots-1) * pulseStep)
	for _, s := range a.Slots {
		if i := int(s.At.Sub(first) / pulseStep); i >= 0 && i < slots && !s.At.Before(first) {
			calls[i] += s.Calls
			failed[i] += s.Failures
		}
	}
	for i := range calls {
		bar := PulseBar{X: strconv.Itoa(3 * i), Y: "6", Height: "4", Class: "g-none"}
		switch {
		case failed[i] > 0: // taller, so that color is not the only difference
			bar.Y, bar.Height, bar.Class = "0", "16", "g-fail"
			if float64(failed[i]) < highFailureShare*float64(calls[i]) {
				bar.Class = "g-need"
			}
		case calls[i] > 0:
			bar.Y, bar.Height, bar.Class = "3", "10", "g-ok"
		}
		p.Bars = append(p.Bars, bar)
	}
	return p
}

// failures returns the latest failed calls, and how often calls failed by error code.
func (s *section) failures(c *ui.Context, a domain.Activity) (rows []FailureRow, counts []CountRow) {
	for _, f := range a.Recent {
		row := FailureRow{At: c.Time(f.At), Code: kit.Escape(f.Code), Text: kit.Escape(f.Message), Node: kit.Escape(f.Node)}
		if f.Run != "" {
			row.Run, row.RunHref = domain.ShortID(f.Run), "/runs/"+url.PathEscape(f.Run)
		}
		rows = append(rows, row)
	}
	for _, e := range a.Errors {
		counts = append(counts, CountRow{Name: kit.Escape(e.Code), Count: c.Number(e.Count)})
	}
	return rows, counts
}
