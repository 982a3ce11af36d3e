package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/view"
)

// runRow is a run as lists show it.
func (r *request) runRow(run kairos.Run) view.RunRow {
	row := view.RunRow{ID: run.ID, Short: kairos.ShortID(run.ID), Href: "/runs/" + run.ID, Status: runStatus(run.Status, run.WaitReason),
		Plan: run.PlanKey, PlanHref: "/plans/" + url.PathEscape(run.PlanKey), Version: fmt.Sprintf("v%d", run.Version),
		Headline: visible(run.Headline), Started: r.time(run.CreatedAt)}
	switch {
	case !run.EndedAt.IsZero():
		row.Took = took(run.EndedAt.Sub(run.CreatedAt))
	case run.Status == kairos.RunRunning:
		row.Took, row.Since = took(time.Since(run.CreatedAt)), run.CreatedAt.UnixMilli()
	default:
		row.Took = took(time.Since(run.CreatedAt))
	}
	// A run's shape: one cell per step, failures tall, so that it is known at a
	// glance.
	if n := len(run.Path); n > 0 {
		w := min(100.0/float64(n), 8)
		for i, c := range run.Path {
			cell := view.Cell{X: percent(float64(i) * w), W: percent(w * 0.8), Y: "30%", H: "40%", Class: "g-ok"}
			switch c {
			case 'f', 'd':
				cell.Class, cell.Y, cell.H = "g-fail", "0", "100%"
			case 's', 'x':
				cell.Class, cell.Y, cell.H = "g-idle", "45%", "10%"
			}
			row.Strip = append(row.Strip, cell)
		}
	}
	return row
}

func percent(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) + "%" }

func (r *request) runRows(list []kairos.Run) []view.RunRow {
	rows := make([]view.RunRow, len(list))
	for i, run := range list {
		rows[i] = r.runRow(run)
	}
	return rows
}

func (r *request) runs() error {
	q := strings.TrimSpace(r.c.QueryParam("q"))
	p := view.RunsPage{Shell: r.shell("runs", "Runs"), Query: q, Topic: "runs"}
	p.Live = true
	code := http.StatusOK
	f, problem := parseFilter(q, time.Now())
	if problem != nil {
		p.Error, p.Suggestion = problem.Message, problem.Suggestion
		code = http.StatusBadRequest
	} else {
		f.Page = r.page()
		list, err := r.s.Reader.Runs(r.ctx, f)
		if err != nil {
			return err
		}
		p.Rows = r.runRows(list.Items)
		at := func(key, cursor string) string {
			if cursor == "" {
				return ""
			}
			return "/runs?" + url.Values{"q": {q}, key: {cursor}}.Encode()
		}
		p.Newest, p.Newer, p.Older = "/runs?q="+url.QueryEscape(q), at("before", list.Prev), at("after", list.Next)
		p.Count = r.n(len(p.Rows), "%s shown", "%s shown")
		if list.Next != "" || list.Prev != "" {
			const limit = 10_000
			n, err := r.s.Reader.RunsCount(r.ctx, f, limit+1)
			if err == nil && n > limit {
				p.Count += r.t(", more than %s match", r.number(limit))
			} else if err == nil {
				p.Count += r.n(n, ", %s matches", ", %s match")
			}
		}
	}
	counts, err := r.s.Reader.RunCounts(r.ctx)
	if err != nil {
		return err
	}
	p.Chips = r.chips(q, counts)
	if r.htmx() && r.c.Request().Header.Get("HX-Target") == "list" {
		return r.render(code, view.RunList(p))
	}
	return r.render(code, view.Runs(p))
}

func (r *request) chips(q string, c kairos.RunCounts) []view.Link {
	chip := func(text, query string, n int64) view.Link {
		return view.Link{Text: text, Href: "/runs?q=" + url.QueryEscape(query), Current: q == query, Count: r.number(n)}
	}
	return []view.Link{
		chip(r.t("All"), "", c.Total), chip(r.t("Needs attention"), "is:attention", c.NeedsAttention), chip(r.t("Failed"), "status:failed", c.ByStatus[kairos.RunFailed]),
		chip(r.t("Running"), "status:running", c.ByStatus[kairos.RunRunning]), chip(r.t("Waiting"), "status:waiting", c.ByStatus[kairos.RunWaiting]),
		chip(r.t("Queued"), "status:queued", c.ByStatus[kairos.RunQueued]), chip(r.t("Succeeded"), "status:completed", c.ByStatus[kairos.RunCompleted]),
		chip(r.t("Cancelled"), "status:cancelled", c.ByStatus[kairos.RunCancelled])}
}

// filterKeys are the keys of the filter grammar that lists understand.
var filterKeys = []string{"status", "plan", "v", "since", "until", "id", "by", "node", "error", "parent", "is", "text", "waiting"}

// parseFilter reads the filter grammar (UI 3.2.9): blanks mean AND, commas OR, a
// leading dash NOT; bare words are an id's tail or text.
func parseFilter(q string, now time.Time) (f kairos.RunFilter, problem *kairos.Error) {
	for _, term := range terms(q) {
		not := strings.HasPrefix(term, "-")
		key, value, isTerm := strings.Cut(strings.TrimPrefix(term, "-"), ":")
		value = strings.Trim(value, `"`)
		if label, ok := strings.CutPrefix(term, "label."); ok {
			k, v, ok := strings.Cut(label, "=")
			if !ok {
				return f, kairos.Errorf(kairos.CodeInvalid, "a label is written label.key=value")
			}
			if f.Labels == nil {
				f.Labels = map[string]string{}
			}
			f.Labels[k] = v
			continue
		}
		if !isTerm {
			if kairos.ValidID(term) || len(term) == 4 && strings.ToLower(term) == term {
				f.IDTail = term
			} else {
				f.Text = strings.TrimSpace(f.Text + " " + strings.Trim(term, `"`))
			}
			continue
		}
		if not && key != "status" {
			return f, kairos.Errorf(kairos.CodeInvalid, "-%s is not understood", key).Suggest("only -status: can be excluded")
		}
		if problem := setFilter(&f, key, value, not, now); problem != nil {
			return f, problem
		}
	}
	return f, nil
}

func setFilter(f *kairos.RunFilter, key, value string, not bool, now time.Time) *kairos.Error {
	switch key {
	case "status":
		var chosen []kairos.RunStatus
		for _, v := range strings.Split(value, ",") {
			if v == "succeeded" {
				v = string(kairos.RunCompleted)
			}
			if v == "interrupted" {
				f.WaitReasons = append(f.WaitReasons, kairos.WaitInDoubt)
				continue
			}
			if !slices.Contains(kairos.RunStatuses, kairos.RunStatus(v)) {
				return kairos.Errorf(kairos.CodeInvalid, "unknown status %q", v).Suggest("statuses: queued, running, waiting, completed, failed, cancelled")
			}
			chosen = append(chosen, kairos.RunStatus(v))
		}
		if not {
			for _, st := range kairos.RunStatuses {
				if !slices.Contains(chosen, st) {
					f.Statuses = append(f.Statuses, st)
				}
			}
			return nil
		}
		f.Statuses = append(f.Statuses, chosen...)
	case "waiting":
		f.WaitReasons = append(f.WaitReasons, kairos.WaitReason(value))
	case "plan":
		f.PlanKey = value
	case "v":
		n, err := strconv.Atoi(value)
		if err != nil {
			return kairos.Errorf(kairos.CodeInvalid, "v:%s is not a version number", value)
		}
		f.Version = n
	case "since", "until":
		at, err := moment(value, now)
		if err != nil {
			return kairos.Errorf(kairos.CodeInvalid, "%s:%s is not a time", key, value).Suggest("write 24h, 7d or 2030-01-31T08:00")
		}
		if key == "since" {
			f.Since = at
		} else {
			f.Until = at
		}
	case "id":
		f.IDTail = strings.ToLower(value)
		if len(value) < 4 {
			return kairos.Errorf(kairos.CodeInvalid, "give at least four characters of the id")
		}
	case "by":
		f.Actor = value
	case "node", "step":
		f.Node = value
	case "error":
		f.ErrorCode = value
	case "parent":
		f.Parent = value
	case "text":
		f.Text = value
	case "is":
		if value != "attention" {
			return kairos.Errorf(kairos.CodeInvalid, "is:%s is not understood", value).Suggest("write is:attention")
		}
		f.NeedsAttention = true
	default:
		return kairos.Errorf(kairos.CodeInvalid, "unknown filter %q", key).Suggest("filters: %s, label.key=value", strings.Join(filterKeys, ", "))
	}
	return nil
}

// terms splits at blanks outside quotes; label.k=v becomes a term of its own.
func terms(q string) []string {
	var out []string
	var b strings.Builder
	quoted := false
	for _, c := range q + " " {
		switch {
		case c == '"':
			quoted = !quoted
			b.WriteRune(c)
		case c == ' ' && !quoted:
			if b.Len() > 0 {
				out = append(out, b.String())
			}
			b.Reset()
		default:
			b.WriteRune(c)
		}
	}
	return out
}

// moment reads 15m, 24h, 7d (ago) or a date with or without time.
func moment(s string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n < 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time", s)
}

// find jumps to a run by its id's beginning or end, or to a plan by its key.
func (r *request) find() error {
	q := strings.TrimSpace(r.c.QueryParam("q"))
	if run, err := r.s.Reader.FindRun(r.ctx, q); err == nil {
		return r.c.Redirect(http.StatusSeeOther, "/runs/"+run.ID)
	}
	if p, err := r.s.Reader.Plan(r.ctx, q); err == nil {
		return r.c.Redirect(http.StatusSeeOther, "/plans/"+url.PathEscape(p.Key))
	}
	return r.c.Redirect(http.StatusSeeOther, "/runs?q="+url.QueryEscape(q))
}
