package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// Rows of the catalogue of bad inputs: A26.
func TestEveryPageIsSafeHTML(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Furnish(t, site.Seed(t))
	b := site.Browser(t).Login()
	for _, path := range seed.Paths() {
		p := b.Get(path)
		if p.Code != http.StatusOK &&
			!(p.Code == http.StatusBadRequest && strings.Contains(path, "?q=")) { // a list with an invalid filter responds with 400
			t.Errorf("%s: got status %d, want %d\n%s", path, p.Code, http.StatusOK, p.Body)
			continue
		}
		for header, want := range map[string]string{"Content-Security-Policy": "script-src 'self'",
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Type": "text/html; charset=utf-8"} {
			if !strings.Contains(p.Header.Get(header), want) {
				t.Errorf("%s: %s is %q", path, header, p.Header.Get(header))
			}
		}
		webtest.Safe(t, path, p.Body)
	}
}

func TestTheRunPageOpensOnTheAnswer(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	p := b.Get("/runs/" + seed.Failed.ID)
	for _, want := range []string{"post failed", "step runs again", "step keeps its result", "Resume from post", `id="ih"`, "blocked"} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the page of the failed run does not contain %q", want)
		}
	}
	if p := b.Get("/runs/" + seed.Waiting.ID); !strings.Contains(p.Body, "Refund 240?") || !strings.Contains(p.Body, `value="approve"`) {
		t.Error("the page of the waiting run has no decision")
	}
	// Any unambiguous end of an ID finds the run.
	if p := b.Get("/runs/" + seed.Failed.ID[20:]); p.Code != http.StatusSeeOther || !strings.HasSuffix(p.Location, seed.Failed.ID) {
		t.Errorf("by the end of the ID: got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Location)
	}
}

func TestActionsArePreviewedAndDoneOnce(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	path := "/runs/" + seed.Failed.ID + "/rerun"
	form := b.Get(path).Hidden()
	form.Set("do", "act")
	first := b.Post(path, form)
	second := b.Post(path, form)
	if first.Code != http.StatusSeeOther || first.Location != second.Location || first.Location == "/runs/"+seed.Failed.ID {
		t.Errorf("a form posted twice: got status %d, want %d: %s, status %d %s",
			first.Code, http.StatusSeeOther, first.Location, second.Code, second.Location)
	}
	// An outdated preview is rejected and shows the new facts.
	path = "/runs/" + seed.Failed.ID + "/resume"
	form = b.Get(path).Hidden()
	form.Set("do", "act")
	stale := url.Values{}
	for k, v := range form {
		stale[k] = v
	}
	stale.Set("idem", "another")
	stale.Set("rev", "1")
	if p := b.Post(path, stale); p.Code != http.StatusConflict || !strings.Contains(p.Body, "The current state follows") {
		t.Errorf("an outdated form: got status %d, want %d", p.Code, http.StatusConflict)
	}
	if p := b.Post(path, form); p.Code != http.StatusSeeOther {
		t.Errorf("resume: got status %d, want %d\n%s", p.Code, http.StatusSeeOther, p.Body)
	}
}

func TestTwoOperatorsResumeOneRunOnce(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	path := "/runs/" + seed.Failed.ID + "/resume"
	var forms []url.Values
	for range 2 {
		f := b.Get(path).Hidden()
		f.Set("do", "act")
		forms = append(forms, f)
	}
	codes := make([]int, 2)
	var wg sync.WaitGroup
	for i := range forms {
		wg.Go(func() { codes[i] = b.Post(path, forms[i]).Code })
	}
	wg.Wait()
	if codes[0]+codes[1] != http.StatusSeeOther+http.StatusConflict {
		t.Errorf("got %v, want one 303 and one 409", codes)
	}
}

func TestApprovalsAreDecidedByForm(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	list, err := site.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: seed.Waiting.ID})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%v %v", list, err)
	}
	path := "/approvals/" + list.Items[0].ID
	form := b.Get(path).Hidden()
	form.Set("answer", "approve")
	form.Set("f.note", "sorry")
	if p := b.Post(path, form); p.Code != http.StatusSeeOther {
		t.Fatalf("approve: got status %d, want %d\n%s", p.Code, http.StatusSeeOther, p.Body)
	}
	r, err := site.Engine.Wait(t.Context(), seed.Waiting.ID)
	if err != nil || r.Status != domain.RunCompleted {
		t.Errorf("%s %v", r.Status, err)
	}
}

// A person settles a call with an unknown outcome on the run's page. Until then, it is not
// repeated.
func TestAnAttemptInDoubtIsResolvedByForm(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	run := site.Seed(t).InDoubt
	if run.Status != domain.RunWaiting || run.WaitReason != domain.WaitInDoubt {
		t.Fatalf("the run is %s %s", run.Status, run.WaitReason)
	}
	b := site.Browser(t).Login()
	p := b.Get("/runs/" + run.ID)
	action := "/runs/" + run.ID + "/nodes/pay/resolve"
	if !strings.Contains(p.Body, `action="`+action+`"`) || !strings.Contains(p.Body, "In doubt") {
		t.Fatalf("the page has no form for the step in doubt:\n%s", p.Body)
	}
	form := p.Hidden()
	form.Set("action", "happened")
	form.Set("reason", "the bank has it")
	form.Set("output", `{"receipt": 7`)
	if p := b.Post(action, form); p.Code != http.StatusUnprocessableEntity && p.Code != http.StatusBadRequest {
		t.Errorf("an output that is not JSON: got status %d, want %d\n%s", p.Code, http.StatusUnprocessableEntity, p.Body)
	}
	form.Set("output", `{"receipt": 7}`)
	if p := b.Post(action, form); p.Code != http.StatusSeeOther {
		t.Fatalf("resolve: got status %d, want %d\n%s", p.Code, http.StatusSeeOther, p.Body)
	}
	r, err := site.Engine.Wait(t.Context(), run.ID)
	if err != nil || r.Status != domain.RunCompleted || string(r.Output) != `{"booked":{"receipt":7}}` {
		t.Errorf("%s %s %v", r.Status, r.Output, err)
	}
}

func TestPlansAreCheckedBeforeTheyAreStored(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	form := b.Get("/plans/new").Hidden()
	form.Set("source", "id: x\r\nnodes:\r\n  a: {tpye: set}\r\n  b: {type: nop}\r\n")
	form.Set("do", "save")
	p := b.Post("/plans/new", form)
	if p.Code != http.StatusUnprocessableEntity || !strings.Contains(p.Body, "line 3") || !strings.Contains(p.Body, "did you mean noop?") ||
		!strings.Contains(p.Body, "tpye") {
		t.Errorf("got status %d, want %d\n%s", p.Code, http.StatusUnprocessableEntity, p.Body)
	}
	form.Set("source", "id: x\r\nnodes:\r\n  a: {type: set, input: 1}\r\n")
	if p := b.Post("/plans/new", form); p.Location != "/plans/x/v/1" {
		t.Errorf("status %d %s\n%s", p.Code, p.Location, p.Body)
	}
	start := b.Get("/plans/x/start").Hidden()
	start.Set("input", "hello")
	if p := b.Post("/plans/x/start", start); p.Code != http.StatusSeeOther || !strings.HasPrefix(p.Location, "/runs/") {
		t.Errorf("start: got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Location)
	}
}

// Rows of the catalogue of bad inputs: A11, A12.
func TestStrangersStayOutside(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t)
	for _, path := range []string{"/", "/runs", "/plans", "/audit", "/live?t=runs"} {
		if p := b.Get(path); p.Code != http.StatusSeeOther || p.Location != "/setup" {
			t.Errorf("%s before setup: got status %d, want %d: %s", path, p.Code, http.StatusSeeOther, p.Location)
		}
	}
	if p := b.Post("/setup", url.Values{"csrf": {"anonymous"}, "token": {"guess"}, "name": {"eve"},
		"password": {webtest.Password}}); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("a guessed setup token: status %d", p.Code)
	}
	b.Login()
	other := site.Browser(t)
	if p := other.Get("/runs"); p.Code != http.StatusSeeOther || p.Location != "/login?next=%2Fruns" {
		t.Errorf("not logged in: got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Location)
	}
	if p := other.Post("/login", url.Values{"csrf": {"anonymous"}, "name": {"marta"},
		"password": {"wrong wrong wrong"}}); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("wrong password: status %d", p.Code)
	}
	if p := other.Post("/login", url.Values{"csrf": {"anonymous"}, "name": {"marta"}, "password": {webtest.Password},
		"next": {"//evil.example/"}}); p.Location != "/" {
		t.Errorf("login redirects to another site: %s", p.Location)
	}
	// Forms without the page's token, and requests from other sites.
	if p := b.Post("/plans/new", url.Values{"source": {"id: x"}}); p.Code != http.StatusForbidden {
		t.Errorf("no form token: got status %d, want %d", p.Code, http.StatusForbidden)
	}
	for name, change := range map[string]func(*http.Request){
		"cross-site":     func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"foreign origin": func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"null origin":    func(r *http.Request) { r.Header.Set("Origin", "null") },
		"neither header": func(*http.Request) {},
	} {
		req, err := http.NewRequest(http.MethodPost, site.URL+"/logout", strings.NewReader("csrf=x"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		change(req)
		if p := b.Do(req); p.Code != http.StatusForbidden {
			t.Errorf("%s: got status %d, want %d", name, p.Code, http.StatusForbidden)
		}
	}
	req, err := http.NewRequest(http.MethodGet, site.URL+"/runs", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	if p := b.Do(req); p.Code != http.StatusMisdirectedRequest {
		t.Errorf("foreign host name: got status %d, want %d", p.Code, http.StatusMisdirectedRequest)
	}
	for path, want := range map[string]int{"/nope": 404, "/runs/zzzz": 404, "/runs?q=status:odd": 400, "/runs?after=zz": 422,
		"/static/x/../../etc/passwd": 404, "/plans/none": 404} {
		if p := b.Get(path); p.Code != want {
			t.Errorf("%s: got status %d, want %d", path, p.Code, want)
		}
	}
}

func TestAViewerSeesButDoesNotAct(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	site.Browser(t).Login()
	if _, err := site.Auth.CreateUser(t.Context(), site.Admin, "vera", webtest.Password, domain.RoleViewer); err != nil {
		t.Fatal(err)
	}
	b := site.Browser(t)
	if p := b.Post("/login", url.Values{"csrf": {"anonymous"}, "name": {"vera"},
		"password": {webtest.Password}}); p.Code != http.StatusSeeOther {
		t.Fatalf("login: status %d", p.Code)
	}
	p := b.Get("/runs/" + seed.Failed.ID)
	if p.Code != http.StatusOK || strings.Contains(p.Body, "/resume") {
		t.Errorf("status %d, or an action is visible to a viewer", p.Code)
	}
	for _, path := range []string{"/runs/" + seed.Failed.ID + "/resume", "/plans/new"} {
		if p := b.Get(path); p.Code != http.StatusForbidden {
			t.Errorf("%s: got status %d, want %d", path, p.Code, http.StatusForbidden)
		}
	}
}
