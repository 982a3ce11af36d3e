package agents

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/vital"
	"github.com/kairosd/kairosd/web/ui"
)

// pulseStep is how finely the picture of a day tells time apart.
const pulseStep = 30 * time.Minute

// troubled is the share of the last hour's calls that, failed, asks for attention.
const troubled = 0.2

// pulse is how calls went, in a picture and in words.
func (s *section) pulse(c *ui.Context, a domain.Activity) Pulse {
	p := Pulse{Calls: c.Number(a.Calls), Last: c.Time(a.LastCallAt), Text: c.T("no call")}
	if a.P95 > 0 {
		p.P95 = vital.Span(a.P95)
	}
	if a.Hour.Calls > 0 {
		share := float64(a.Hour.Failures) / float64(a.Hour.Calls)
		p.Share, p.Bad = c.T("%s of %s", c.Number(a.Hour.Failures), c.Number(a.Hour.Calls)), share >= troubled
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
	calls, failed, top := make([]float64, slots), make([]float64, slots), 0.0
	first := c.Site.Now().Truncate(pulseStep).Add(-time.Duration(slots-1) * pulseStep)
	for _, s := range a.Slots {
		if i := int(s.At.Sub(first) / pulseStep); i >= 0 && i < slots && !s.At.Before(first) {
			calls[i] += float64(s.Calls)
			failed[i] += float64(s.Failures)
			top = max(top, calls[i])
		}
	}
	p.Points = vital.Line(calls)
	for i, n := range failed {
		if n > 0 && top > 0 {
			height := max(n/top*(vital.Height-2), 2)
			p.Bars = append(p.Bars, PulseBar{X: fmt.Sprintf("%.1f", float64(i)*vital.Width/float64(slots)), Y: fmt.Sprintf("%.1f", vital.Height-1-height), Height: fmt.Sprintf("%.1f", height)})
		}
	}
	return p
}

// failures are the last calls that failed, and how often calls failed with what.
func (s *section) failures(c *ui.Context, a domain.Activity) (rows []FailureRow, counts []CountRow) {
	for _, f := range a.Recent {
		row := FailureRow{At: c.Time(f.At), Code: kit.Visible(f.Code), Text: kit.Visible(f.Message), Node: kit.Visible(f.Node)}
		if f.Run != "" {
			row.Run, row.RunHref = domain.ShortID(f.Run), "/runs/"+url.PathEscape(f.Run)
		}
		rows = append(rows, row)
	}
	for _, e := range a.Errors {
		counts = append(counts, CountRow{Name: kit.Visible(e.Code), Count: c.Number(e.Count)})
	}
	return rows, counts
}

// stopText says who lets something not be called.
func (s *section) stopText(c *ui.Context, stop *domain.Stop) string {
	if stop == nil {
		return ""
	}
	text := c.T("Stopped since %s by %s.", c.Time(stop.Since).Text, kit.Visible(stop.By))
	if stop.Reason != "" {
		text += " " + kit.Visible(stop.Reason)
	}
	return text
}

// stopPage asks before calls of something are stopped, or begin again; p says where
// it is and what it is called.
func (s *section) stopPage(c *ui.Context, code int, p kit.ConfirmPage, name string, stopped *domain.Stop, a domain.Activity) error {
	p.Post, p.Idem, p.Do = p.Back+"/stop", kit.NewID(), "stop"
	p.Heading, p.Danger, p.NeedsReason = c.T("Stop all calls of %s", name), true, true
	p.Says = c.T("No new call begins; what is under way goes on. A call that is refused fails its step, unless the step is tried again: such runs can be resumed afterwards. It outlasts restarts.")
	if stopped != nil {
		p.Heading, p.Danger, p.NeedsReason, p.Do = c.T("Allow calls of %s again", name), false, false, "start"
		p.Says = s.stopText(c, stopped) + " " + c.T("Runs that failed meanwhile go on once they are resumed.")
	}
	p.Shell = c.Shell("agents", p.Heading)
	p.Facts = append([]kit.Fact{{Term: c.T("Calls in the last hour"), Text: c.Number(a.Hour.Calls)}}, p.Facts...)
	return c.Render(code, kit.Confirm(p))
}

// stop does what a stopPage announced; show shows that page again.
func (s *section) stop(c *ui.Context, name, back string, do func(context.Context, app.StopCalls) error, show func(c *ui.Context, code int, problem string) error) error {
	on, reason := c.Field("do") == "stop", strings.TrimSpace(c.Field("reason"))
	if on && reason == "" {
		return show(c, http.StatusUnprocessableEntity, c.T("Say why: it is kept in the audit log."))
	}
	err := do(c, app.StopCalls{Meta: c.Meta(), Name: name, On: on, Reason: reason})
	switch domain.CodeOf(err) {
	case "":
		return c.To(back)
	case domain.CodeConflict:
		return show(c, http.StatusConflict, c.T("That is so already. This is how it is now."))
	}
	return err
}
