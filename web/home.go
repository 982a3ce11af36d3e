package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/view"
)

// home answers in five seconds: is anything wrong, what needs me, what runs. It
// is made of bands that are read and refreshed each by itself.
func (r *request) home() error {
	if b, ok := bandOf(r.target()); ok {
		return r.refreshBand(b)
	}
	p := view.HomePage{Shell: r.shell("home", "Home")}
	p.Live = true
	counts, err := r.s.Reader.RunCounts(r.ctx)
	if err != nil {
		return err
	}
	if p.Empty = counts.Total == 0; p.Empty {
		p.Steps = r.firstSteps()
	} else {
		p.Bands = r.bands()
	}
	return r.render(http.StatusOK, view.Home(p))
}

// firstSteps are the commands by which a first plan is stored and run.
func (r *request) firstSteps() []view.FirstStep {
	scheme := "http"
	if r.s.secure(r.c.Request()) {
		scheme = "https"
	}
	api := scheme + "://" + r.c.Request().Host + "/api/v1"
	return []view.FirstStep{
		{Text: r.t("Write a plan into a file, plan.yaml:"), Code: "id: hello\nnodes:\n  greet: {type: set, input: {text: \"hello, ${input.name}\"}}\n"},
		{Text: r.t("Store it. The token comes from Settings, or from kairosd token create:"), Code: "curl -H \"Authorization: Bearer $KAIROS_TOKEN\" -H \"Content-Type: application/yaml\" \\\n  --data-binary @plan.yaml " + api + "/plans"},
		{Text: r.t("Start a run. This page then shows it:"), Code: "curl -H \"Authorization: Bearer $KAIROS_TOKEN\" -H \"Content-Type: application/json\" \\\n  -d '{\"plan\": \"hello\", \"input\": {\"name\": \"marta\"}}' " + api + "/runs"},
	}
}

func (r *request) help() error {
	return r.render(http.StatusOK, view.Help(r.shell("", "Help")))
}

// audit is the log of every act.
func (r *request) audit() error {
	form := view.AuditForm{Actor: r.c.QueryParam("actor"), Action: r.c.QueryParam("action"), Object: r.c.QueryParam("object"), Run: r.c.QueryParam("run"),
		Result: r.c.QueryParam("result"), Since: r.c.QueryParam("since")}
	f := kairos.AuditFilter{Actor: form.Actor, Action: form.Action, Object: form.Object, Result: form.Result, Page: r.page()}
	if form.Run != "" {
		run, err := r.s.Reader.FindRun(r.ctx, form.Run)
		if err != nil {
			return err
		}
		f.Run = run.ID
	}
	if form.Since != "" {
		at, err := filter.Moment(form.Since, time.Now())
		if err != nil {
			return kairos.Errorf(kairos.CodeInvalid, "since: %w", err).Suggest("write 24h, 7d or 2030-01-31T08:00")
		}
		f.Since = at
	}
	list, err := r.s.Reader.AuditEvents(r.ctx, f)
	if err != nil {
		return err
	}
	p := view.AuditPage{Shell: r.shell("audit", "Audit"), Form: form}
	for _, e := range list.Items {
		p.Rows = append(p.Rows, r.auditRow(e))
	}
	at := func(key, cursor string) string {
		if cursor == "" {
			return ""
		}
		q := r.c.Request().URL.Query()
		q.Del("before")
		q.Del("after")
		q.Set(key, cursor)
		return "/audit?" + q.Encode()
	}
	p.Newer, p.Older = at("before", list.Prev), at("after", list.Next)
	return r.render(http.StatusOK, view.Audit(p))
}

// auditRow is an event of the audit log as lists show it.
func (r *request) auditRow(e kairos.AuditEvent) view.EventRow {
	row := view.EventRow{Seq: strconv.FormatInt(e.Seq, 10), At: r.time(e.At), Who: visible(e.Actor), What: e.Action, Where: visible(e.Object), Text: visible(e.Reason)}
	if e.Run != "" {
		row.Where, row.Href = strings.TrimSpace(r.t("run %s", kairos.ShortID(e.Run))+" "+visible(e.Object)), "/runs/"+e.Run
	} else if key, ok := strings.CutPrefix(e.Object, "plan:"); ok {
		row.Href = "/plans/" + url.PathEscape(key)
	} else if id, ok := strings.CutPrefix(e.Object, "bulk:"); ok {
		row.Href = "/bulk/" + url.PathEscape(id)
	}
	if e.Result != "ok" {
		row.What += " (" + e.Result + ")"
	}
	return row
}
