package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// auditKeyWords say what each key of the audit log's filter selects.
var auditKeyWords = map[string]string{
	"actor": locale.Mark("who did it: a person, a token, system"), "action": locale.Mark("what was done; run.* is all that begin with run."),
	"object": locale.Mark("what it is about: plan:invoice, user:ana"), "result": locale.Mark("ok, denied or failed"), "surface": locale.Mark("through which door: ui, api, cli, engine"),
	"ip": locale.Mark("the address that the request came from"), "corr": locale.Mark("the request: all records that it led to"), "run": locale.Mark("a run, with its checkpoints"),
	"since": locale.Mark("after"), "until": locale.Mark("before"),
}

var auditExamples = map[string]string{
	"actor": "actor:marta,ana", "action": "action:run.* -action:run.status", "object": "object:plan:invoice", "result": "result:denied,failed", "surface": "surface:api", "ip": "ip:10.0.0.7",
	"corr": "corr:2f9c1b7d5e60aa31", "run": "run:7qx2", "since": "since:24h", "until": "until:2030-01-31T08:00",
}

func init() {
	for _, k := range filter.AuditKeys {
		view.AuditHelp = append(view.AuditHelp, view.FilterTerm{At: "/audit", Key: k, Does: auditKeyWords[k], Example: auditExamples[k]})
	}
}

// audit is the log of every act: filtered, by key, append only.
func (r *request) audit() error {
	q := strings.TrimSpace(r.c.QueryParam("q"))
	p := view.AuditPage{Shell: r.shell("audit", "Audit"), Query: q, Ranges: r.rangesAt("/audit", q), Export: listAt("/audit.jsonl", q)}
	code := http.StatusOK
	f, problem := r.auditFilter(q)
	if problem != nil {
		p.Error, p.Suggestion = r.filterProblem(problem)
		code = http.StatusBadRequest
	} else if err := r.listAudit(&p, q, f); err != nil {
		return err
	}
	if err := r.auditState(&p); err != nil {
		return err
	}
	return r.render(code, view.Audit(p))
}

// auditFilter reads a query, and finds the run that it names.
func (r *request) auditFilter(q string) (domain.AuditFilter, *domain.Error) {
	f, problem := filter.ParseAudit(q, r.s.now())
	if problem != nil || f.Run == "" {
		return f, problem
	}
	run, err := r.s.Reader.FindRun(r.ctx, f.Run)
	if err != nil {
		return f, domain.Errorf(domain.CodeInvalid, "run:%s: %s", f.Run, err).Suggest("give the run's id, or at least four characters of its end")
	}
	f.Run = run.ID
	return f, nil
}

func (r *request) listAudit(p *view.AuditPage, q string, f domain.AuditFilter) error {
	f.Page = r.page()
	list, err := r.s.Reader.AuditEvents(r.ctx, f)
	if err != nil {
		return err
	}
	for _, e := range list.Items {
		p.Rows = append(p.Rows, r.auditLine(q, e))
	}
	at := func(key, cursor string) string {
		if cursor == "" {
			return ""
		}
		v := url.Values{key: {cursor}}
		if q != "" {
			v.Set("q", q)
		}
		if n := r.c.QueryParam("n"); n != "" {
			v.Set("n", n)
		}
		return "/audit?" + v.Encode()
	}
	p.Newer, p.Older = at("before", list.Prev), at("after", list.Next)
	p.Count = r.n(len(p.Rows), "%s shown", "%s shown")
	if list.Next != "" && len(p.Rows) < max(f.Page.Limit, 50) {
		p.Count += r.t(", as far as was looked: Older goes on from there, since: or action: makes it narrower")
	}
	return nil
}

// auditState says how long the log is kept, and when its chain was verified last.
func (r *request) auditState(p *view.AuditPage) error {
	link, err := r.s.Reader.AuditLink(r.ctx, 1)
	if err != nil {
		return err
	}
	p.Kept = r.t("Events are only ever added: none is edited or deleted.")
	keep := ""
	if r.s.Settings != nil {
		if set, err := r.s.Settings.Settings(r.ctx); err == nil {
			keep = set.Retention.Audit
		}
	}
	if keep == "" {
		p.Kept += " " + r.t("They are kept for ever.")
	} else {
		p.Kept += " " + r.t("They are kept for %s.", keep)
	}
	if link.Cut > 0 {
		p.Kept += " " + r.t("Retention has removed those up to number %s.", r.number(link.Cut))
	}
	if r.s.AuditLog == nil {
		return nil
	}
	check, err := r.s.AuditLog.AuditCheck(r.ctx)
	if err != nil {
		return err
	}
	p.Verify = view.Link{Text: r.t("Verify the chain…"), Href: "/audit/verify"}
	p.CanVerify = r.who.Role.Includes(domain.RoleOperator)
	p.Check, p.Checked = r.checkWords(check)
	return nil
}

// checkWords is a verification in a sentence, with its state.
func (r *request) checkWords(c domain.AuditCheck) (view.Status, string) {
	switch {
	case c.Began.IsZero():
		return word("idle", "i-queued", locale.Mark("Not verified yet"), false), r.t("Nobody has asked for a verification yet.")
	case c.Ended.IsZero():
		return word("now", "i-now", locale.Mark("Under way"), false), r.t("%s asked for it at %s.", visible(c.By), r.time(c.Began).Text)
	case c.Found > 0:
		return word("fail", "i-fail", locale.Mark("The chain does not fit"), true),
			r.n(c.Found, "Verified %[2]s by %[3]s: %[1]s problem. %[4]s", "Verified %[2]s by %[3]s: %[1]s problems. %[4]s", r.time(c.Ended).Text, visible(c.By), strings.Join(visibleAll(c.Problems), "; "))
	}
	return word("ok", "i-ok", locale.Mark("The chain is whole"), true), r.t("Verified %s by %s: %s events up to number %s, %s links, in %s.",
		r.time(c.Ended).Text, visible(c.By), r.number(c.Events), r.number(c.Last), r.number(c.Links), took(c.Ended.Sub(c.Began)))
}

// auditRow is an event as other pages list it.
func (r *request) auditRow(e domain.AuditEvent) view.EventRow {
	row := view.EventRow{Seq: strconv.FormatInt(e.Seq, 10), At: r.time(e.At), Who: visible(e.Actor), What: e.Action, Text: visible(e.Reason)}
	about := r.auditAbout(e)
	row.Where, row.Href = about.Text, about.Href
	if e.Result != "ok" {
		row.What += " (" + e.Result + ")"
	}
	return row
}

// auditLine is an event as the log lists it: every value that can be filtered is a
// link that adds its term.
func (r *request) auditLine(q string, e domain.AuditEvent) view.AuditRow {
	seq := strconv.FormatInt(e.Seq, 10)
	row := view.AuditRow{Seq: seq, Href: "/audit/" + seq, At: r.time(e.At), Who: r.auditTerm(q, "actor", e.Actor), What: r.auditTerm(q, "action", e.Action),
		About: r.auditAbout(e), Result: auditResult(e.Result), Why: visible(cut(e.Reason, 300))}
	if e.Surface != "" {
		row.From = append(row.From, r.auditTerm(q, "surface", e.Surface))
	}
	if e.Request.Address != "" {
		row.From = append(row.From, r.auditTerm(q, "ip", e.Request.Address))
	}
	if e.Request.ID != "" {
		row.Corr = r.auditTerm(q, "corr", e.Request.ID)
		row.Corr.Text = visible(cut(e.Request.ID, 8))
	}
	return row
}

func (r *request) auditTerm(q, key, value string) view.Link {
	return view.Link{Text: visible(value), Href: listAt("/audit", strings.TrimSpace(filter.Without(q, key)+" "+key+":"+filter.Quote(value)))}
}

func auditResult(result string) view.Status {
	switch result {
	case "denied":
		return word("need", "i-cancel", locale.Mark("denied"), true)
	case "failed":
		return word("fail", "i-fail", locale.Mark("failed"), true)
	}
	return word("quiet", "i-ok", locale.Mark("succeeded"), true)
}

// auditEvent is one event with all that is known of it: what changed, by which
// request, and where in the chain it stands.
func (r *request) auditEvent() error {
	seq, err := strconv.ParseInt(r.c.Param("event"), 10, 64)
	if err != nil || seq < 1 {
		return domain.Errorf(domain.CodeNotFound, "no audit event %q", r.c.Param("event"))
	}
	e, err := r.s.Reader.AuditEvent(r.ctx, seq)
	if err != nil {
		return err
	}
	link, err := r.s.Reader.AuditLink(r.ctx, seq)
	if err != nil {
		return err
	}
	p := view.AuditEventPage{Shell: r.shell("audit", r.t("Audit event %s", strconv.FormatInt(seq, 10))), Action: e.Action, Result: auditResult(e.Result)}
	add := func(term string, l view.Link, mono bool) {
		if l.Text != "" {
			p.Facts = append(p.Facts, view.Fact{Term: term, Text: l.Text, Href: l.Href, Mono: mono})
		}
	}
	text := func(s string) view.Link { return view.Link{Text: visible(s)} }
	add(r.t("Number"), view.Link{Text: strconv.FormatInt(seq, 10)}, true)
	at := r.time(e.At)
	add(r.t("When"), view.Link{Text: at.Title + " · " + at.UTC}, false)
	add(r.t("Who"), r.auditTerm("", "actor", e.Actor), false)
	add(r.t("Action"), r.auditTerm("", "action", e.Action), true)
	add(r.t("About"), r.auditAbout(e), false)
	add(r.t("Object"), text(e.Object), true)
	add(r.t("Why"), text(e.Reason), false)
	add(r.t("Through"), r.auditTerm("", "surface", e.Surface), false)
	if e.Request.Address != "" {
		add(r.t("From address"), r.auditTerm("", "ip", e.Request.Address), true)
	}
	if e.Request.ID != "" {
		add(r.t("Request"), r.auditTerm("", "corr", e.Request.ID), true)
	}
	if e.RunSeq > 0 {
		rows := strconv.FormatInt(e.RunSeq, 10)
		if e.FirstSeq > 0 && e.FirstSeq < e.RunSeq {
			rows = fmt.Sprintf("%d–%d", e.FirstSeq, e.RunSeq)
		}
		add(r.t("Journal rows"), view.Link{Text: rows, Href: "/runs/" + e.Run + "?view=events"}, true)
	}
	if e.Action == "plan.version" {
		var d struct{ Version int }
		if json.Unmarshal(e.Detail, &d) == nil && d.Version > 1 {
			add(r.t("What changed"), view.Link{Text: r.t("from version %d to %d", d.Version-1, d.Version), Href: fmt.Sprintf("%s/diff/%d/%d", r.auditAbout(e).Href, d.Version-1, d.Version)}, false)
		}
	}
	for _, entry := range e.Entries {
		p.Entries = append(p.Entries, r.auditEntry(e.Run, entry))
	}
	p.Blocks = r.auditDetail(e)
	p.Chain = r.chainFacts(seq, link)
	if seq > max(1, link.Cut+1) {
		p.Older = "/audit/" + strconv.FormatInt(seq-1, 10)
	}
	if seq < link.Last {
		p.Newer = "/audit/" + strconv.FormatInt(seq+1, 10)
	}
	return r.render(http.StatusOK, view.AuditEvent(p))
}

func (r *request) auditEntry(run string, e domain.Entry) view.EventRow {
	row := view.EventRow{Seq: strconv.FormatInt(e.Seq, 10), What: strings.TrimSpace(string(e.Kind) + " " + string(e.Status)), Where: visible(e.Node), Who: visible(e.Actor),
		At: r.time(e.At), Text: visible(cut(e.Reason, 300)), Href: fmt.Sprintf("/runs/%s/steps/%d", run, e.Seq)}
	if e.Failure != nil {
		row.Text = visible(cut(e.Failure.Message, 300))
	}
	if e.Node == "" {
		row.Href = ""
	}
	return row
}

// auditDetail is what changed, where the event says how it was before; else the
// event's detail as it is.
func (r *request) auditDetail(e domain.AuditEvent) []view.Block {
	if len(e.Detail) == 0 {
		return nil
	}
	var out []view.Block
	before, after, rest := domain.SplitDetail(e.Detail)
	if before != nil || after != nil {
		lines, note := r.jsonDiff(before, after)
		out = append(out, view.Block{ID: "changed", Title: r.t("What changed"), Diff: lines, Note: note})
	}
	if rest != nil {
		out = append(out, r.block("detail", r.t("Detail"), rest, ""))
	}
	return out
}

// chainFacts say where in the chain an event stands: which link covers it, and
// which events that link covers with it.
func (r *request) chainFacts(seq int64, l domain.AuditLink) []view.Fact {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	out := []view.Fact{{Term: r.t("Position"), Text: r.t("event %s of %s", number(seq), number(l.Last))}}
	if l.Mac == "" {
		return append(out, view.Fact{Term: r.t("Link of the chain"), Text: r.t("its commit is being written")})
	}
	covered := r.t("events %s to %s, made with the commit of event %s", number(l.Before+1), number(l.Seq), number(l.Seq))
	if l.Before+1 == l.Seq {
		covered = r.t("this event alone, made with its commit")
	}
	out = append(out, view.Fact{Term: r.t("Link over"), Text: covered, Href: "/audit/" + number(l.Seq)}, view.Fact{Term: r.t("HMAC of the link"), Text: l.Mac, Mono: true})
	if l.BeforeMac != "" {
		f := view.Fact{Term: r.t("Link before"), Text: r.t("event %s", number(l.Before)) + " · " + l.BeforeMac, Mono: true}
		if l.Before > l.Cut {
			f.Href = "/audit/" + number(l.Before)
		}
		out = append(out, f)
	} else {
		out = append(out, view.Fact{Term: r.t("Link before"), Text: r.t("none: the chain begins here")})
	}
	return out
}

// verifyPage says what a verification does; it is safe to open.
func (r *request) verifyPage() error { return r.showVerify(http.StatusOK, "") }

func (r *request) showVerify(code int, problem string) error {
	if r.s.AuditLog == nil {
		return domain.Errorf(domain.CodeNotFound, "this installation does not verify its audit log on request")
	}
	check, err := r.s.AuditLog.AuditCheck(r.ctx)
	if err != nil {
		return err
	}
	link, err := r.s.Reader.AuditLink(r.ctx, 1)
	if err != nil {
		return err
	}
	p := view.AuditVerifyPage{Shell: r.shell("audit", "Verify the chain of the audit log"), Idem: newID(), Error: problem, Problems: visibleAll(check.Problems)}
	p.Sentence = r.n(int(link.Last-link.Cut), "All of it is read, %s event: that none is missing, that each link fits, and that the journals are what the events say. Runs go on meanwhile.",
		"All of it is read, %s events: that none is missing, that each link fits, and that the journals are what the events say. Runs go on meanwhile.")
	p.Check, p.Checked = r.checkWords(check)
	p.UnderWay = !check.Began.IsZero() && check.Ended.IsZero()
	return r.render(code, view.AuditVerify(p))
}

func (r *request) verify() error {
	if r.s.AuditLog == nil {
		return domain.Errorf(domain.CodeNotFound, "this installation does not verify its audit log on request")
	}
	err := r.once(func() (string, error) { return "/audit", r.s.AuditLog.VerifyAudit(r.ctx, r.who.actor()) })
	if domain.CodeOf(err) == domain.CodeConflict {
		return r.showVerify(http.StatusConflict, r.sentence(err))
	}
	return err
}

// auditValues are the values that a key of the audit log's filter may have.
func (r *request) auditValues(key, typed string) ([]view.Link, error) {
	var all []view.Link
	add := func(values ...string) {
		for _, v := range values {
			if !slices.ContainsFunc(all, func(l view.Link) bool { return l.Text == v }) {
				all = append(all, view.Link{Text: v})
			}
		}
	}
	switch key {
	case "action":
		add("run.*", "plan.*", "user.*", "store.*")
		add(domain.AuditActions...)
	case "result":
		add(filter.AuditResults...)
	case "surface":
		add(filter.AuditSurfaces...)
	case "since", "until":
		add("15m", "1h", "6h", "24h", "7d", "30d")
	case "actor", "ip", "corr", "object", "run": // what the newest events have
		list, err := r.s.Reader.AuditEvents(r.ctx, domain.AuditFilter{Exclude: domain.AuditExclusion{Actors: excluded(key)}, Page: domain.Page{Limit: 200}})
		if err != nil {
			return nil, err
		}
		if key == "actor" {
			add(r.who.Name, domain.System.Name)
		}
		for _, e := range list.Items {
			if v := map[string]string{"actor": e.Actor, "ip": e.Request.Address, "corr": e.Request.ID, "object": e.Object, "run": e.Run}[key]; v != "" {
				add(v)
			}
		}
	}
	return matching(all, typed), nil
}

// excluded: the engine's own events name no request and few objects of people.
func excluded(key string) []string {
	if key == "run" || key == "actor" {
		return nil
	}
	return []string{domain.System.Name}
}

// matching are the values that contain what was typed; those that begin with it,
// first.
func matching(all []view.Link, typed string) []view.Link {
	typed = strings.ToLower(typed)
	all = slices.DeleteFunc(all, func(l view.Link) bool { return !strings.Contains(strings.ToLower(l.Text), typed) })
	slices.SortStableFunc(all, func(a, b view.Link) int {
		begins := func(l view.Link) int {
			if strings.HasPrefix(strings.ToLower(l.Text), typed) {
				return 0
			}
			return 1
		}
		return cmp.Compare(begins(a), begins(b))
	})
	return all
}

// rangesAt are quick choices of since: for the list at an address.
func (r *request) rangesAt(path, q string) []view.Link {
	rest := filter.Without(filter.Without(q, "since"), "until")
	current := ""
	for _, t := range filter.Terms(q) {
		if strings.HasPrefix(t, "since:") {
			current = t
			break
		}
	}
	out := []view.Link{{Text: r.t("Any time"), Href: listAt(path, rest), Current: current == ""}}
	for _, d := range []string{"15m", "1h", "6h", "24h", "7d", "30d"} {
		out = append(out, view.Link{Text: d, Href: listAt(path, strings.TrimSpace(rest+" since:"+d)), Current: current == "since:"+d})
	}
	return out
}

// exportDeadline is how long one page of an export may take to reach a reader.
const exportDeadline = 30 * time.Second
