package web

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/part/vital"
	"github.com/kairosd/kairosd/web/view"
)

// pulseStep is how finely the picture of a day tells time apart.
const pulseStep = 30 * time.Minute

// troubled is the share of the last hour's calls that, failed, asks for attention.
const troubled = 0.2

// pulse is how calls went, in a picture and in words.
func (r *request) pulse(a domain.Activity) view.Pulse {
	p := view.Pulse{Calls: r.number(a.Calls), Last: r.time(a.LastCallAt), Text: r.t("no call")}
	if a.P95 > 0 {
		p.P95 = vital.Span(a.P95)
	}
	if a.Hour.Calls > 0 {
		share := float64(a.Hour.Failures) / float64(a.Hour.Calls)
		p.Share, p.Bad = r.t("%s of %s", r.number(a.Hour.Failures), r.number(a.Hour.Calls)), share >= troubled
		if a.Hour.Failures > 0 {
			p.Share += " (" + r.display.lang.Percent(math.Ceil(share*100)/100) + ")"
		}
	}
	if a.Calls == 0 {
		return p
	}
	p.Text = r.n(int(a.Calls), "%s call", "%s calls")
	if a.Failures > 0 {
		p.Failed = r.number(a.Failures)
		p.Text += ", " + r.n(int(a.Failures), "%s failed", "%s failed")
	}
	const slots = int(24 * time.Hour / pulseStep)
	calls, failed, top := make([]float64, slots), make([]float64, slots), 0.0
	first := r.s.now().Truncate(pulseStep).Add(-time.Duration(slots-1) * pulseStep)
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
			p.Bars = append(p.Bars, view.PulseBar{X: fmt.Sprintf("%.1f", float64(i)*vital.Width/float64(slots)), Y: fmt.Sprintf("%.1f", vital.Height-1-height), Height: fmt.Sprintf("%.1f", height)})
		}
	}
	return p
}

// failures are the last calls that failed, and how often calls failed with what.
func (r *request) failures(a domain.Activity) (rows []view.FailureRow, counts []view.CountRow) {
	for _, f := range a.Recent {
		row := view.FailureRow{At: r.time(f.At), Code: visible(f.Code), Text: visible(f.Message), Node: visible(f.Node)}
		if f.Run != "" {
			row.Run, row.RunHref = domain.ShortID(f.Run), "/runs/"+url.PathEscape(f.Run)
		}
		rows = append(rows, row)
	}
	for _, e := range a.Errors {
		counts = append(counts, view.CountRow{Name: visible(e.Code), Count: r.number(e.Count)})
	}
	return rows, counts
}

// stopText says who lets something not be called.
func (r *request) stopText(s *domain.Stop) string {
	if s == nil {
		return ""
	}
	text := r.t("Stopped since %s by %s.", r.time(s.Since).Text, visible(s.By))
	if s.Reason != "" {
		text += " " + visible(s.Reason)
	}
	return text
}

// stopPage asks before calls of something are stopped, or begin again; p says where
// it is and what it is called.
func (r *request) stopPage(code int, p view.ConfirmPage, name string, stopped *domain.Stop, a domain.Activity) error {
	p.Post, p.Idem, p.Do = p.Back+"/stop", newID(), "stop"
	p.Heading, p.Danger, p.NeedsReason = r.t("Stop all calls of %s", name), true, true
	p.Says = r.t("No new call begins; what is under way goes on. A call that is refused fails its step, unless the step is tried again: such runs can be resumed afterwards. It outlasts restarts.")
	if stopped != nil {
		p.Heading, p.Danger, p.NeedsReason, p.Do = r.t("Allow calls of %s again", name), false, false, "start"
		p.Says = r.stopText(stopped) + " " + r.t("Runs that failed meanwhile go on once they are resumed.")
	}
	p.Shell = r.shell("agents", p.Heading)
	p.Facts = append([]view.Fact{{Term: r.t("Calls in the last hour"), Text: r.number(a.Hour.Calls)}}, p.Facts...)
	return r.render(code, view.Confirm(p))
}

// stop does what a stopPage announced; show shows that page again.
func (r *request) stop(name, back string, do func(ctx context.Context, actor domain.Actor, name string, on bool, reason string) error, show func(code int, problem string) error) error {
	on, reason := r.c.FormValue("do") == "stop", strings.TrimSpace(r.c.FormValue("reason"))
	if on && reason == "" {
		return show(http.StatusUnprocessableEntity, r.t("Say why: it is kept in the audit log."))
	}
	err := r.once(func() (string, error) { return back, do(r.ctx, r.who.actor(), name, on, reason) })
	if domain.CodeOf(err) == domain.CodeConflict {
		return show(http.StatusConflict, r.t("That is so already. This is how it is now."))
	}
	return err
}
