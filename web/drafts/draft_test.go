package drafts_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// ask submits the form of a request, and waits until planning has succeeded or failed.
func ask(t *testing.T, site *webtest.Site, b *webtest.Browser, request string, with ...string) (string, webtest.Page, domain.Draft) {
	t.Helper()
	f := webtest.Form(t, b.Get("/ask").Body, `name="intent"`)
	f.Set("intent", request)
	f.Del("approve")
	for i := 0; i < len(with); i += 2 {
		f.Add(with[i], with[i+1])
	}
	p := b.Post("/plans/drafts", f)
	if p.Code != http.StatusSeeOther || !strings.HasPrefix(p.Location, "/plans/drafts/") {
		t.Fatalf("got status %d, want %d: %s\n%s", p.Code, http.StatusSeeOther, p.Location, p.Body)
	}
	d := site.Drafted(t, p.Location)
	return p.Location, b.Get(p.Location), d
}

// A draft is planned, refined, and accepted. Nothing runs before a user has accepted the plan that
// they saw.
func TestAPlanFromAnIntentRunsOnlyOnceItIsAccepted(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	failedAt, failed, _ := ask(t, site, b, "boil an egg and then sing for each guest")
	for _, want := range []string{"No plan for this request", "POST-PLAN-001", "boil an egg", "Rephrase request",
		"Retry with another provider", `value="spare"`, "Not available because"} {
		if !strings.Contains(failed.Body, want) {
			t.Errorf("the failed draft does not contain %q:\n%s", want, webtest.Text(failed.Body))
		}
	}
	spanish := b.Do(webtest.Request(t, http.MethodGet, site.URL+failedAt, "", "Accept-Language", "es"))
	webtest.Has(
		t,
		spanish,
		"the draft that failed, in Spanish",
		"No se puede crear un plan de ejecución válido para la solicitud:",
		"Reformule la solicitud o habilite habilidades",
	)
	at, first, _ := ask(t, site, b, "collect the figures and then notify <everybody>")
	for _, want := range []string{"No step has run.", "To be accepted", "complex: it needs several steps",
		"1 step cannot be repeated", "step-2", "unsafe", "2.0 s", "skills match the request", "notify &lt;everybody&gt;",
		"Accept and start",
		"the request names: notify", "the request names: collect", "sum of step-1 is 42: the default", "Accept as v1",
		"Start a dry run", "Discard the draft", "Analyzing the request", "Choosing tools", "by rules"} {
		if !strings.Contains(first.Body, want) {
			t.Errorf("the draft does not contain %q:\n%s", want, webtest.Text(first.Body))
		}
	}
	// A box of the graph links to the reason of its step.
	chosen := b.Get(at + "?node=step-2")
	webtest.Has(t, chosen, "the chosen step", `?node=step-1#why"`, `aria-current="true"`)
	if _, row, _ := strings.Cut(chosen.Body, `id="why"`); !strings.Contains(
		strings.SplitN(row, "</tr>", 2)[0],
		"the request names: notify",
	) ||
		strings.Count(chosen.Body, `id="why"`) != 1 {
		t.Errorf("the graph does not link to the row with the reason:\n%s", webtest.Text(row))
	}
	webtest.Has(
		t,
		b.Do(webtest.Request(t, http.MethodGet, site.URL+at, "", "Accept-Language", "es")),
		"the draft in Spanish",
		"las habilidades concuerdan con la solicitud",
	)
	// Refining creates another draft and keeps the first one.
	f := webtest.Form(t, first.Body, "Make another draft")
	f.Set("intent", "collect the figures, then stop")
	p := b.Post(at+"/refine", f)
	if p.Code != http.StatusSeeOther {
		t.Fatalf("got status %d, want %d\n%s", p.Code, http.StatusSeeOther, p.Body)
	}
	second := p.Location
	site.Drafted(t, second)
	refined := b.Get(second)
	webtest.Has(
		t,
		refined,
		"the refined draft",
		"revision 2, made from",
		"1 step removed",
		`class="node minus`,
		second+"?node=step-1#why",
		at+"?node=step-2#why",
		"Changes in the text",
	)
	if strings.Contains(refined.Body, `<td class="m">step-2</td>`) || strings.Contains(refined.Body, "cannot be repeated:") {
		t.Errorf("the refined draft still notifies:\n%s", webtest.Text(refined.Body))
	}
	if !strings.Contains(b.Get(at).Body, "Refined further:") {
		t.Error("the first draft does not link to its refinement")
	}
	// An equal request reuses the earlier plan.
	_, again, d := ask(t, site, b, "collect the  figures, then stop")
	if !d.Found || !strings.Contains(again.Body, "The same request was planned before") {
		t.Errorf("%+v", d)
	}
	plans, err := site.Store.Plans(t.Context(), domain.PlanFilter{})
	if err != nil || len(plans.Items) != 2 {
		t.Errorf("%d plans, %v", len(plans.Items), err)
	}
	if runs, err := site.Store.Runs(t.Context(), domain.RunFilter{}); err != nil || len(runs.Items) != 0 {
		t.Fatalf("a run started before the draft was accepted: %+v %v", runs.Items, err)
	}
	f = webtest.Form(t, refined.Body, "Accept and start")
	f.Set("intent", "collect the figures, then stop")
	f.Set("do", "start")
	if p = b.Post(second+"/accept", f); p.Code != http.StatusSeeOther || !strings.HasPrefix(p.Location, "/runs/") {
		t.Fatalf("got status %d, want %d: %s\n%s", p.Code, http.StatusSeeOther, p.Location, p.Body)
	}
	if again := b.Post(second+"/accept", f); again.Location != p.Location {
		t.Errorf("the form sent twice starts another run: %s, %s", p.Location, again.Location)
	}
	run, err := site.Engine.Wait(t.Context(), strings.TrimPrefix(p.Location, "/runs/"))
	if err != nil || run.Status != domain.RunCompleted || run.Origin != "ask" || string(run.Input) != `"collect the figures, then stop"` {
		t.Errorf("%+v %v", run, err)
	}
	v, err := site.Store.VersionByHash(t.Context(), run.Hash)
	if err != nil || v.Origin != "planner" || v.ByPerson || v.Reason == "" {
		t.Errorf("%+v %v", v, err)
	}
	if said := site.Audited(t); !said["draft.begin"] || !said["draft.ready"] || !said["draft.failed"] || !said["draft.accept"] ||
		!said["plan.accept"] {
		t.Errorf("the audit log: %v", said)
	}
	events, err := site.Store.AuditEvents(t.Context(), domain.AuditFilter{Actions: []string{"draft.accept"}})
	if err != nil || len(events.Items) != 1 {
		t.Fatalf("%+v %v", events.Items, err)
	}
	for _, want := range []string{`"prompt":"collect the figures`, `"draft":"` + strings.TrimPrefix(second, "/plans/drafts/"),
		`"by":"rules"`, `"hash":"` + run.Hash} {
		if !strings.Contains(string(events.Items[0].Detail), want) {
			t.Errorf("accepting does not record %s: %s", want, events.Items[0].Detail)
		}
	}
}

// A draft is tried, accepted without a run, or discarded.
func TestADraftIsTriedAcceptedOrDiscarded(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	at, page, d := ask(t, site, b, "collect the figures and then notify everybody")
	act := func(do string) webtest.Page {
		t.Helper()
		f := webtest.Form(t, page.Body, "Accept and start")
		f.Set("intent", "collect")
		f.Set("do", do)
		to := at + "/accept"
		if do == "discard" {
			to = at + "/discard"
		}
		return b.Post(to, f)
	}
	stage := func() (domain.PlanStage, bool) {
		t.Helper()
		p, err := site.Store.Plan(t.Context(), d.Plan.Key)
		if err != nil {
			t.Fatal(err)
		}
		return p.Stage, p.Archived
	}
	if list := b.Get("/plans?state=draft").Body; !strings.Contains(list, `href="`+at+`"`) || strings.Contains(list, "Made by programs") ||
		strings.Contains(b.Get("/plans").Body, d.Plan.Key) {
		t.Errorf("the draft is not listed exactly once as a draft, or is listed as an active plan:\n%s", webtest.Text(list))
	}
	if version := b.Get("/plans/" + d.Plan.Key + "/v/1").Body; !strings.Contains(version, `href="`+at+`">Draft</a>`) ||
		strings.Contains(version, "/v/1/accept") {
		t.Errorf("the version does not link to its draft, or can be accepted without it:\n%s", webtest.Text(version))
	}
	p := act("try")
	run, err := site.Engine.Wait(t.Context(), strings.TrimPrefix(p.Location, "/runs/"))
	if err != nil || !run.Dry() || run.Status != domain.RunCompleted || run.Labels["draft"] == "" {
		t.Errorf("tried: %+v %v", run, err)
	}
	if st, _ := stage(); st != domain.StageDraft {
		t.Error("a draft that was tried is no longer a draft")
	}
	for _, want := range []string{`href="` + at + `/accept" hx-get=`, `href="` + at + `/discard" hx-get=`} {
		if !strings.Contains(page.Body, want) {
			t.Errorf("the draft does not link to %s", want)
		}
	}
	// Before the acceptance, the page shows what is stored, the permissions of the plan, its open
	// problems, and the audit event. Assumptions are listed with the plan and have checkboxes in
	// the confirmation form only.
	if _, asked, _ := strings.Cut(page.Body, `id="accept"`); strings.Contains(strings.SplitN(asked, "</form>", 2)[0], `type="checkbox"`) {
		t.Errorf("the draft shows the checkboxes of its acceptance page:\n%s", webtest.Text(asked))
	}
	webtest.Has(t, page, "the draft", "<li>sum of step-1 is 42")
	preview := b.Get(at + "/accept")
	webtest.Has(
		t,
		preview,
		"the preview of accepting",
		"Accept as v1",
		d.Hash,
		d.Plan.Key,
		"2 steps",
		"beginning with",
		"set",
		"cannot be repeated",
		`name="ok"`,
		"sum of step-1 is 42",
		"Recorded in the audit log",
		d.ID,
	)
	webtest.Safe(t, "accept", preview.Body)
	accept := webtest.Form(t, preview.Body, "Accept as v1")
	accept.Set("reason", "read by two")
	accept.Add("ok", "0")
	if p = b.Post(at+"/accept", accept); p.Location != "/plans/"+d.Plan.Key {
		t.Errorf("accepting: status %d %s", p.Code, webtest.Text(p.Body))
	}
	events, err := site.Store.AuditEvents(t.Context(), domain.AuditFilter{Action: "draft.accept"})
	if err != nil || len(events.Items) != 1 || !strings.Contains(events.Items[0].Reason, "read by two") ||
		!strings.Contains(events.Items[0].Reason, "1 of ") {
		t.Errorf("%+v %v", events.Items, err)
	}
	if to := b.Get(at + "/accept").Location; to != at {
		t.Errorf("an accepted draft can be accepted again at %q", to)
	}
	if st, _ := stage(); st != domain.StageUsed {
		t.Error("an accepted draft is not active")
	}
	if p = act("accept"); p.Location != "/plans/"+d.Plan.Key { // repeated request
		t.Errorf("accepting an accepted draft: status %d", p.Code)
	}
	if p = act("discard"); p.Code != http.StatusConflict || !strings.Contains(p.Body, "The draft was accepted") {
		t.Errorf("discarding an accepted draft: got status %d, want %d", p.Code, http.StatusConflict)
	}
	page = b.Get(at)
	if strings.Contains(page.Body, "Accept as v1") || !strings.Contains(page.Body, "Accepted") {
		t.Error("an active version can be accepted")
	}
	at, page, d = ask(t, site, b, "please collect all figures of today")
	webtest.Has(
		t,
		b.Get(at+"/discard"),
		"the preview of discarding",
		"Discard the draft",
		"please collect all figures of today",
		`name="reason"`,
	)
	if act("discard").Location != "/plans?state=draft" {
		t.Error("discarding does not redirect to the drafts")
	}
	if _, archived := stage(); !archived {
		t.Error("a discarded draft is not archived")
	}
	f := webtest.Form(t, b.Get("/ask").Body, `name="intent"`)
	f.Set("intent", "collect")
	f.Set("max_steps", "many")
	if p = b.Post("/plans/drafts", f); p.Code != http.StatusUnprocessableEntity || !strings.Contains(p.Body, ">collect</textarea>") {
		t.Errorf("a limit that is not a number: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
}

// Users whose language is Spanish see the problems of planning and of the plan in Spanish.
func TestProblemsOfADraftInSpanish(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	v := site.Plan(t, "id: odd\nnodes:\n  a: {type: set, input: 1, max_parallel: 3}\n")
	d := domain.Draft{
		ID:           domain.NewID(),
		DraftRequest: domain.DraftRequest{Query: "one"},
		Actor:        "marta",
		Role:         domain.RoleOperator,
		Source:       "ui",
		Revision:     1,
		State:        domain.DraftPlanning,
		CreatedAt:    time.Now().UTC(),
	}
	webtest.StoreDraft(t, site.Store, d)
	problem := domain.Messagef("%s must be a text", "reasoning")
	if err := site.Store.SetDraftProgress(t.Context(), d.ID,
		[]domain.DraftNote{{At: d.CreatedAt, Phase: domain.PhaseDrafting, Attempt: 2, Problems: []domain.Message{problem}}}); err != nil {
		t.Fatal(err)
	}
	if page := b.Do(webtest.Request(t, http.MethodGet, site.URL+"/plans/drafts/"+d.ID, "", "Accept-Language", "es")); !strings.Contains(
		page.Body,
		"reasoning debe ser un texto",
	) {
		t.Errorf("the progress of planning in Spanish: %s", webtest.Text(page.Body))
	}
	d.State, d.Plan.Key, d.Plan.Version, d.Hash, d.By = domain.DraftReady, "odd", v.Number, v.Hash, "rules"
	if ended, err := site.Store.EndDraft(t.Context(), d); err != nil || !ended {
		t.Fatal(ended, err)
	}
	for _, path := range []string{"/plans/drafts/" + d.ID, "/plans/drafts/" + d.ID + "/accept"} {
		spanish := b.Do(webtest.Request(t, http.MethodGet, site.URL+path, "", "Accept-Language", "es"))
		webtest.Has(t, spanish, path, "<b>aviso</b>", "max_parallel no tiene efecto sin foreach")
		if english := b.Get(path); !strings.Contains(english.Body, "max_parallel has no effect without foreach") {
			t.Errorf("%s in English:\n%s", path, webtest.Text(english.Body))
		}
	}
}

// The page of a draft shows the model's reason for each step. If the response of the model is
// unusable, the page shows it and offers another provider.
func TestADraftByAModel(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	at, page, d := ask(t, site, b, "read the mail and then "+webtest.InvalidPlanWord, "provider", "script")
	if d.State != domain.DraftFailed || d.Error.Answer == "" || d.Model != "script/m1" || d.Usage.InputTokens != 300 {
		t.Fatalf("%+v", d)
	}
	webtest.Has(
		t,
		page,
		"the draft that failed",
		"No plan for this request",
		"NO_VALID_PLAN",
		"The model&#39;s last answer",
		"juggler",
		"Drafting, attempt 2, because",
		"is not an agent of the list",
		"script/m1",
		"360 tokens",
		"Retry with another provider",
		`<option value="spare" selected>`,
	)
	f := webtest.Form(t, page.Body, "Retry with another provider")
	f.Set("do", "retry")
	f.Set("provider", "spare")
	p := b.Post(at+"/refine", f)
	if d = site.Drafted(t, p.Location); d.Provider != "spare" || d.Parent == "" || d.Revision != 2 ||
		d.Query != "read the mail and then "+webtest.InvalidPlanWord {
		t.Errorf("%+v", d)
	}
	_, page, d = ask(t, site, b, "read the mail and then answer it", "provider", "spare")
	if d.State != domain.DraftReady || d.By != "model" {
		t.Fatalf("%+v", d)
	}
	webtest.Has(
		t,
		page,
		"the draft",
		"reason of the model: the desk has them",
		"reason of the model: the customer reads English",
		"one has to read, one to write",
		"not known: its steps have run too seldom here",
		"Choosing among the agents",
		"spare/m1",
	)
}

// A non-idempotent step requires an approval, unless the user turns this off.
func TestADraftRequiresApprovalOfNonIdempotentSteps(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	if page := b.Get("/ask").Body; !strings.Contains(page, `name="approve" value="1" checked`) {
		t.Error("requiring approval is not the default")
	}
	at, page, _ := ask(t, site, b, "collect the figures and then notify everybody", "approve", "1")
	webtest.Has(t, page, "the draft", "ask-step-2", "step-2 is not idempotent: it needs an approval first")
	f := webtest.Form(t, page.Body, "Accept and start")
	f.Set("do", "start")
	f.Set("intent", "go")
	p := b.Post(at+"/accept", f)
	run, err := site.Engine.Wait(t.Context(), strings.TrimPrefix(p.Location, "/runs/"))
	if err != nil || run.WaitReason != domain.WaitApproval {
		t.Fatalf("%+v %v", run, err)
	}
	list, err := site.Store.Approvals(t.Context(), domain.ApprovalFilter{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Node != "ask-step-2" {
		t.Fatalf("%+v %v", list.Items, err)
	}
	if _, err := site.Engine.Decide(t.Context(), site.Admin,
		domain.DecideRequest{Approval: list.Items[0].ID, Approve: false, Comment: "no"}); err != nil {
		t.Fatal(err)
	}
	if run, err = site.Engine.Wait(t.Context(), run.ID); err != nil || run.Status != domain.RunCompleted {
		t.Fatalf("%+v %v", run, err)
	}
	journal, err := site.Store.JournalPage(t.Context(), run.ID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range journal {
		if e.Node == "step-2" && e.Status != domain.NodeSkipped {
			t.Errorf("got status %s for a rejected request", e.Status)
		}
	}
	_, _, d := ask(t, site, b, "collect the figures and then notify everybody", "only", "set")
	if d.State != domain.DraftFailed || !strings.Contains(d.Error.Message, "notify") {
		t.Errorf("with one tool only: %+v", d)
	}
}

// While a draft is planned, its page shows the progress and updates it. When planning ends, scripts
// reload the page.
func TestADraftIsFollowedWhileItIsPlanned(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	d := domain.Draft{
		ID:           domain.NewID(),
		DraftRequest: domain.DraftRequest{Query: "collect <all>"},
		Actor:        "marta",
		Role:         domain.RoleOperator,
		Source:       "ui",
		Revision:     1,
		State:        domain.DraftPlanning,
		CreatedAt:    time.Now().UTC(),
	}
	webtest.StoreDraft(t, site.Store, d)
	at := "/plans/drafts/" + d.ID
	if err := site.Store.SetDraftProgress(t.Context(), d.ID,
		[]domain.DraftNote{{At: d.CreatedAt, Phase: domain.PhaseUnderstanding, Who: "complex"},
			{At: d.CreatedAt, Phase: domain.PhaseDrafting, Attempt: 2, Who: "m",
				Problems: []domain.Message{domain.Verbatim("<none>")}}}); err != nil {
		t.Fatal(err)
	}
	page := b.Get(at)
	webtest.Has(
		t,
		page,
		"the draft",
		"Planning",
		`data-live="draft-`+d.ID,
		"Drafting, attempt 2, because",
		"&lt;none&gt;",
		"Reload",
		"Stop planning and discard",
		"even after a restart",
	)
	if strings.Contains(page.Body, "Make another draft") {
		t.Error("a draft that is being planned can be refined")
	}
	part := func() *http.Request {
		return webtest.Request(t, http.MethodGet, site.URL+at, "", "HX-Request", "true", "HX-Target", "draft-progress")
	}
	if got := b.Do(part()); got.Code != http.StatusOK || !strings.Contains(got.Body, `id="draft-progress"`) ||
		strings.Contains(got.Body, "<form") {
		t.Errorf("got status %d, want %d: %s", got.Code, http.StatusOK, got.Body)
	}
	if err := site.Drafts.Open(t.Context()); err != nil { // as after a restart
		t.Fatal(err)
	}
	if d := site.Drafted(t, at); d.State != domain.DraftReady || d.Begun != 1 {
		t.Errorf("%+v", d)
	}
	if got := b.Head(part()); got.Header.Get("HX-Refresh") != "true" {
		t.Errorf("status %d %v", got.StatusCode, got.Header)
	}
}
