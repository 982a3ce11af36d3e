package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/part/event"
	"github.com/kairosd/kairosd/web/part/failure"
	"github.com/kairosd/kairosd/web/view"
)

const (
	// away is how long a person must not have looked for the next look to be
	// another visit, and homeVisit the preference that keeps it.
	away      = 30 * time.Minute
	homeVisit = "home visit"
	// sinceActs is how many acts of others are told.
	sinceActs = 8
	sinceCap  = 1000
)

// told are the acts that a person who comes back wants to know of.
var told = []string{"run.resume", "run.rerun", "run.fork", "run.cancel", "run.delete", "node.resolve", "approval.decide", "plan.version", "plan.archive", "plan.unarchive",
	"bulk.resume", "bulk.rerun", "bulk.cancel", "bulk.delete", "failure.ack", "store.released", "store.failed", "tool.accept", "user.create", "token.create"}

// visit notes that the reader looks at home now, and says when they last left
// it; zero: they have not been here before.
func (r *request) visit(now time.Time) (left time.Time, err error) {
	kept, err := r.s.App.Preferences.Get(r.ctx, r.who.actor(), homeVisit)
	if err != nil {
		return left, err
	}
	seenText, leftText, _ := strings.Cut(kept, " ")
	at := func(s string) time.Time {
		if us, err := strconv.ParseInt(s, 10, 64); err == nil && us > 0 {
			return time.UnixMicro(us)
		}
		return time.Time{} // never
	}
	seen, left := at(seenText), at(leftText)
	if !seen.IsZero() && now.Sub(seen) > away {
		left = seen
	}
	if now.Sub(seen) < time.Minute {
		return left, nil
	}
	text := strconv.FormatInt(now.UnixMicro(), 10)
	if !left.IsZero() {
		text += " " + strconv.FormatInt(left.UnixMicro(), 10)
	}
	err = r.s.App.Preferences.Set(r.ctx, app.Preference{Meta: app.Meta{By: r.who.actor()}, Key: homeVisit, Value: text})
	if domain.CodeOf(err) == domain.CodeNoSpace {
		err = nil // the same is told once more
	}
	return left, err
}

// sinceBand tells what happened since the reader's last visit.
func (r *request) sinceBand() (templ.Component, error) {
	left, err := r.visit(r.s.now())
	if err != nil || left.IsZero() {
		return nil, err
	}
	p := view.SinceBand{Left: r.time(left)}
	stamp := left.UTC().Format(time.RFC3339)
	for _, st := range []struct {
		status domain.RunStatus
		say    func(int) string
	}{{domain.RunCompleted, func(n int) string { return r.n(n, "%s run succeeded", "%s runs succeeded") }},
		{domain.RunFailed, func(n int) string { return r.n(n, "%s failed", "%s failed") }},
		{domain.RunCancelled, func(n int) string { return r.n(n, "%s run was cancelled", "%s runs were cancelled") }}} {
		n, _, err := r.s.Reader.RunsCount(r.ctx, domain.RunFilter{Statuses: []domain.RunStatus{st.status}, Since: left}, sinceCap+1)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			continue
		}
		l := view.Link{Text: st.say(n), Href: listAt("/runs", "status:"+string(st.status)+" since:"+stamp)}
		if n > sinceCap {
			l.Text = r.t("more than %s", st.say(sinceCap))
		}
		p.Since = append(p.Since, l)
	}
	groups, err := r.s.App.Failures.List(r.ctx, r.who.actor(), homeGroups)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if g.First.After(left) {
			p.Since = append(p.Since, view.Link{Text: r.t("new: %s at %s of %s", visible(g.Code), visible(g.Node), visible(g.PlanKey)), Href: listAt("/runs", groupQuery(g.Ref()))})
		}
	}
	acts, err := r.s.App.Audit.List(r.ctx, r.who.actor(), domain.AuditFilter{Actions: told, Exclude: domain.AuditExclusion{Actors: []string{r.who.Name}}, Since: left, Page: domain.Page{Limit: sinceActs}})
	if err != nil {
		return nil, err
	}
	for _, e := range acts.Items {
		p.Acts = append(p.Acts, event.Row(r.Context, e))
	}
	if acts.Next != "" {
		p.MoreActs = listAt("/audit", "since:"+stamp)
	}
	notes, err := r.s.App.Runs.RecentNotes(r.ctx, r.who.actor(), left, 2*sinceActs)
	if err != nil {
		return nil, err
	}
	for _, n := range notes {
		if n.Actor != r.who.Name && len(p.Notes) < sinceActs {
			p.Notes = append(p.Notes, view.RunNote{Run: view.Link{Text: domain.ShortID(n.Run), Href: "/runs/" + n.Run}, Plan: view.Link{Text: visible(n.PlanKey)},
				Note: view.Note{Who: visible(n.Actor), Text: visible(cut(n.Text, 500)), At: r.time(n.At)}})
		}
	}
	p.ActsHead = r.n(len(p.Acts), "%s act of others", "%s acts of others")
	return view.Since(p), nil
}

const (
	stripSlots = 48 // half hours of a day
	stripPlans = 12
)

// strips are the last 24 hours: one row per plan, one cell per half hour; plans
// with failures come first.
func (r *request) strips(p *view.DayBand, now time.Time) error {
	from := now.Truncate(domain.OutcomeSlot).Add(-(stripSlots - 1) * domain.OutcomeSlot)
	list, err := r.s.Reader.Outcomes(r.ctx, from)
	if err != nil {
		return err
	}
	type day struct {
		plan                 string
		ok, failed, other    int64
		cells                [stripSlots][2]int64 // ended well or by hand, failed
		most                 int64
		lastFailed, lastSlot int
	}
	days := map[string]*day{}
	for _, o := range list {
		i := int(o.From.Sub(from) / domain.OutcomeSlot)
		if i < 0 || i >= stripSlots {
			continue
		}
		d := days[o.PlanKey]
		if d == nil {
			d = &day{plan: o.PlanKey, lastFailed: -1}
			days[o.PlanKey] = d
		}
		switch o.Status {
		case domain.RunFailed:
			d.failed += o.Runs
			d.cells[i][1] += o.Runs
			d.lastFailed = max(d.lastFailed, i)
		case domain.RunCompleted:
			d.ok += o.Runs
			d.cells[i][0] += o.Runs
		default:
			d.other += o.Runs
			d.cells[i][0] += o.Runs
		}
		d.most = max(d.most, d.cells[i][0])
		d.lastSlot = max(d.lastSlot, i)
	}
	all := make([]*day, 0, len(days))
	for _, d := range days {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *day) int {
		return cmp.Or(cmp.Compare(b.lastFailed, a.lastFailed), cmp.Compare(b.failed, a.failed), cmp.Compare(b.ok, a.ok), cmp.Compare(a.plan, b.plan))
	})
	if len(all) > stripPlans {
		p.MoreStrips = r.n(len(all)-stripPlans, "%s more plan ran", "%s more plans ran")
		all = all[:stripPlans]
	}
	for _, d := range all {
		row := view.StripRow{Plan: view.Link{Text: visible(d.plan), Href: "/plans/" + url.PathEscape(d.plan)}, OK: r.number(d.ok)}
		if d.failed > 0 {
			row.Failed = view.Link{Text: r.number(d.failed), Href: listAt("/runs", "status:failed since:24h plan:"+d.plan)}
		}
		w := 100.0 / stripSlots
		for i, c := range d.cells {
			x, width := percent(float64(i)*w), percent(w*0.86)
			switch {
			case c[1] > 0: // failures are tall, however many
				row.Cells = append(row.Cells, view.Cell{X: x, W: width, Y: "0", H: "100%", Class: "g-fail"})
			case c[0] > 0:
				h := 20 + 50*float64(c[0])/float64(max(d.most, 1))
				row.Cells = append(row.Cells, view.Cell{X: x, W: width, Y: percent(100 - h), H: percent(h), Class: "g-ok"})
			default:
				row.Cells = append(row.Cells, view.Cell{X: x, W: width, Y: "94%", H: "6%", Class: "g-none"})
			}
		}
		row.Label = r.t("%s: %s succeeded, %s failed in 24 hours", visible(d.plan), r.number(d.ok), r.number(d.failed))
		p.Strips = append(p.Strips, row)
	}
	p.StripFrom = r.time(from)
	return nil
}

// ackForm asks for a note before failures are acknowledged, or says what taking
// that back does.
func (r *request) ackForm() error { return r.showAck(http.StatusOK, "") }

func (r *request) showAck(code int, problem string) error {
	if r.c.FormValue("all") != "" {
		p, err := r.ackAllForm()
		if err != nil {
			return err
		}
		p.Idem, p.Error, p.Post = newID(), problem, "/failures/ack"
		p.Says = r.t("These runs need attention no more: they leave home and its counts, and stay failed. When one of them, or another like them, fails anew, the failure is back.")
		p.Shell = r.shell("home", p.Heading)
		return r.render(code, failure.Acknowledge(p))
	}
	ref := r.failureRef()
	if ref.PlanKey == "" {
		return domain.Errorf(domain.CodeNotFound, "this address names no failure")
	}
	p := failure.AckPage{Plan: ref.PlanKey, Node: ref.Node, Code: ref.Code, Alike: ref.Alike, Idem: newID(), Error: problem}
	groups, err := r.s.App.Failures.List(r.ctx, r.who.actor(), failure.Groups)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if g.Ref() == ref {
			p.Headline = cut(r.failureLine(g.Headline), 500)
		}
	}
	p.Heading = r.t("Acknowledge %s at %s of %s", visible(ref.Code), visible(ref.Node), visible(ref.PlanKey))
	p.Says, p.Button, p.Post = r.t("These runs need attention no more: they leave home and its counts, and stay failed. When one of them, or another like them, fails anew, the failure is back."),
		r.t("Acknowledge the failure"), "/failures/ack"
	if strings.HasSuffix(r.c.Path(), "/unack") {
		p.Back = true
		p.Heading, p.Says, p.Button, p.Post = r.t("Take back: %s at %s of %s", visible(ref.Code), visible(ref.Node), visible(ref.PlanKey)),
			r.t("The runs that are still failed need attention again."), r.t("Take the acknowledgement back"), "/failures/unack"
	}
	p.Note = r.c.FormValue("note")
	p.ResumeLater(r.Context)
	p.Shell = r.shell("home", p.Heading)
	return r.render(code, failure.Acknowledge(p))
}

// ack takes note of a failure group, or takes that back.
func (r *request) ack() error {
	ref := r.failureRef()
	note := strings.TrimSpace(r.c.FormValue("note"))
	if len(note) > 2000 {
		return r.showAck(http.StatusUnprocessableEntity, r.t("A note has at most 2,000 characters."))
	}
	err := r.acknowledge(ref, note)
	switch domain.CodeOf(err) {
	case "":
		return r.to("/")
	case domain.CodeConflict:
		return r.showAck(http.StatusConflict, r.sentence(err))
	case domain.CodeInvalid:
		return r.showAck(http.StatusUnprocessableEntity, r.sentence(err))
	}
	return err
}

func (r *request) acknowledge(ref domain.FailureRef, note string) error {
	switch {
	case strings.HasSuffix(r.c.Path(), "/unack"):
		_, err := r.s.App.Failures.Unacknowledge(r.ctx, app.FailureChange{Meta: r.meta(), FailureRef: ref})
		return err
	case r.c.FormValue("all") != "":
		return r.ackChosen(r.c.Request().PostForm["group"], note)
	}
	at, err := failure.ResumeAt(r.Context)
	if err == nil {
		_, err = r.s.App.Failures.Acknowledge(r.ctx, app.FailureChange{Meta: r.meta(), FailureRef: ref, Note: note, ResumeAt: at})
	}
	return err
}

// failureRef reads which failures a form or an address means.
func (r *request) failureRef() domain.FailureRef {
	return domain.FailureRef{PlanKey: r.c.FormValue("plan"), Node: r.c.FormValue("node"), Code: r.c.FormValue("code"), Alike: r.c.FormValue("alike")}
}

// ackOf says who took note of a failure.
func (r *request) ackOf(a domain.FailureAck) view.AckRow {
	row := view.AckRow{What: r.t("%s at %s", visible(a.Code), visible(a.Node)), Plan: visible(a.PlanKey), Who: visible(a.Actor), Note: visible(a.Note), At: r.time(a.At),
		Runs: r.n(int(a.Runs), "%s run", "%s runs"), Href: listAt("/runs", "is:acknowledged "+groupTerms(a.FailureRef)), Says: cut(r.failureLine(a.Headline), 200)}
	if r.who.Role.Includes(domain.RoleOperator) {
		row.Back = "/failures/unack?" + failure.Query(a.FailureRef)
	}
	return row
}
