package audit_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The audit log shows each action with its actor, result, address, and request. Every value is a
// link that filters the list, and every event has a page.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	if p := b.Post("/runs/"+seed.Waiting.ID+"/cancel", func() url.Values {
		f := b.Get("/runs/" + seed.Waiting.ID + "/cancel").Hidden()
		f.Set("reason", "a <b>mistake</b>")
		return f
	}()); p.Code != http.StatusSeeOther {
		t.Fatal(p.Code, webtest.Text(p.Body))
	}
	p := b.Get("/audit?q=action:run.cancel")
	short := domain.ShortID(seed.Waiting.ID)
	webtest.HasTexts(t, p, http.StatusOK, "run.cancel", "marta", "run "+short, "a &lt;b&gt;mistake", "completed", ">ui<",
		">127.0.0.1<", "Z")
	if strings.Contains(p.Body, "<b>mistake") {
		t.Error("a reason was rendered as markup")
	}
	for _, want := range []string{`href="/runs/` + seed.Waiting.ID + `"`, `href="/audit?q=action%3Arun.cancel+actor%3Amarta"`,
		`ip%3A127.0.0.1`, `source%3Aui`, `/audit.jsonl?q=action%3Arun.cancel`} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the list has no %s", want)
		}
	}
	// The request links to all its events.
	request := regexp.MustCompile(`request%3A([0-9a-f]{16})`).FindStringSubmatch(p.Body)
	if request == nil {
		t.Fatalf("no request: %s", webtest.Text(p.Body))
	}
	webtest.HasTexts(t, b.Get("/audit?q=request:"+request[1]), http.StatusOK, "run.cancel")
	webtest.HasTexts(t, b.Get("/audit?q=request:0000000000000000"), http.StatusOK, "No event matches. The audit log shows")

	seq := regexp.MustCompile(`href="/audit/(\d+)"`).FindStringSubmatch(p.Body)[1]
	webtest.HasTexts(
		t,
		b.Get("/audit/"+seq),
		http.StatusOK,
		"run.cancel",
		"marta",
		"127.0.0.1",
		request[1],
		"Place in the chain",
		"HMAC of the link",
		"Link before",
		"Previous event",
	)
	webtest.HasTexts(t, b.Get("/audit/1"), http.StatusOK, "none: the chain begins here", "Next event")
	webtest.HasTexts(t, b.Get("/audit/99999999"), http.StatusNotFound)
	webtest.HasTexts(t, b.Get("/audit/x"), http.StatusNotFound)
	webtest.HasTexts(t, b.Get("/audit?q=run:"+short+"+action:checkpoint"), http.StatusOK, "checkpoint")
	checkpoint := regexp.MustCompile(`href="/audit/(\d+)"`).FindStringSubmatch(b.Get("/audit?q=run:" + short +
		"+action:checkpoint").Body)[1]
	webtest.HasTexts(t, b.Get("/audit/"+checkpoint), http.StatusOK, "Journal rows of this checkpoint")

	webtest.HasTexts(t, b.Get("/audit?q=akter:marta"), http.StatusBadRequest, "Did you mean actor:marta?")
	webtest.HasTexts(t, b.Get("/audit?q=result:denid"), http.StatusBadRequest, "Did you mean result:denied?")
	webtest.HasTexts(t, b.Get("/audit?q=run:zzzz"), http.StatusBadRequest, "run:zzzz")
	webtest.HasTexts(t, b.Get("/audit/suggest?q=ac"), http.StatusOK, "actor:", "action:")
	webtest.HasTexts(t, b.Get("/audit/suggest?q=action:run.f"), http.StatusOK, "action:run.fork")
	webtest.HasTexts(t, b.Get("/audit/suggest?q=actor:mar"), http.StatusOK, "actor:marta")
	if n := len(regexp.MustCompile(`href="/audit/\d+"`).FindAllString(b.Get("/audit?n=5").Body, -1)); n != 5 {
		t.Errorf("got %d rows, want 5", n)
	}
	older := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(b.Get("/audit?n=5").Body)
	if older == nil {
		t.Fatal("the list has no link to older events")
	}
	webtest.HasTexts(t, b.Get(strings.ReplaceAll(older[1], "&amp;", "&")), http.StatusOK, "Newer")
}

// By default the log shows the actions of people. One click shows all, and the pages keep this
// choice. A custom filter is a chip that a click removes. Runs are shown with their plan, and bulk
// operations without their id.
func TestTheAuditLogShowsPeopleFirst(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	act, err := site.Bulk.Start(t.Context(), site.Admin, domain.BulkRequest{
		Action: domain.ActionLabel, Query: "plan:report", Labels: map[string]string{"team": "books"},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := b.Get("/audit")
	webtest.HasTexts(t, p, http.StatusOK, `value="-actor:system"`, "bulk operation "+domain.ShortID(act.ID), "/bulk/"+act.ID)
	if w := webtest.Text(p.Body); strings.Contains(w, "run.status") ||
		!strings.Contains(w, "payment run "+domain.ShortID(seed.InDoubt.ID)) {
		t.Errorf("the log shows: %s", w)
	}
	all := b.Get("/audit?q=&n=5")
	webtest.HasTexts(t, all, http.StatusOK, `href="/audit?q=" aria-current="true"`)
	older := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(all.Body)
	if older == nil || !strings.Contains(older[1], "q=") {
		t.Errorf("got link to the next page %q", older)
	}
	webtest.HasTexts(t, b.Get("/audit?q=action:run.created+actor:marta"), http.StatusOK, "Remove the filter",
		`href="/audit?q=action%3Arun.created"`)
}

// An event about a change shows the values before and after it.
func TestAuditChange(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	ana, err := site.Auth.CreateUser(t.Context(), site.Admin, "ana", webtest.Password, domain.RoleViewer)
	if err != nil {
		t.Fatal(err)
	}
	role := domain.RoleAuthor
	if _, err := site.Auth.UpdateUser(t.Context(), site.Admin, ana.ID, &role, nil, nil); err != nil {
		t.Fatal(err)
	}
	seq := regexp.MustCompile(`href="/audit/(\d+)"`).FindStringSubmatch(b.Get("/audit?q=action:user.update").Body)[1]
	webtest.HasTexts(t, b.Get("/audit/"+seq), http.StatusOK, "What changed", "− .role", "+ .role", "viewer", "author")
}

// The events that match a filter can be exported as JSON lines.
func TestAuditExport(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	p := b.Get("/audit.jsonl?q=" + url.QueryEscape("-action:checkpoint"))
	if p.Code != http.StatusOK || !strings.HasPrefix(p.Header.Get("Content-Type"), "application/jsonl") ||
		!strings.Contains(p.Header.Get("Content-Disposition"), "audit.jsonl") {
		t.Fatal(p.Code, p.Header)
	}
	events, signature, _ := strings.Cut(p.Body, `{"signature":`)
	if key, err := site.Store.PublicKey(); err != nil || signature == "" {
		t.Errorf("the export has no signature: %v", err)
	} else if _, _, err := domain.VerifyLines(strings.NewReader(p.Body), key); err != nil {
		t.Error(err)
	}
	last, n := int64(1<<62), 0
	for line := range strings.Lines(events) {
		var e apitypes.AuditEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq >= last || e.Action == "checkpoint" || e.Result == "" {
			t.Fatalf("%v: %s", err, line)
		}
		last, n = e.Seq, n+1
	}
	if n < 20 {
		t.Errorf("got %d lines", n)
	}
	webtest.HasTexts(t, b.Get("/audit.jsonl?q=akter:marta"), http.StatusUnprocessableEntity)
}

// An operator starts a verification of the chain. The page shows when it was last verified, by
// whom, and the result.
func TestAuditVerify(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	webtest.HasTexts(t, b.Get("/audit"), http.StatusOK, "Not verified yet", "kept forever")
	p := b.Get("/audit/verify")
	webtest.HasTexts(t, p, http.StatusOK, "Verify the chain", "none is missing")
	if p := b.Post("/audit/verify", p.Hidden()); p.Code != http.StatusSeeOther || p.Location != "/audit" {
		t.Fatal(p.Code, webtest.Text(p.Body))
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(b.Get("/audit").Body,
		"The chain is intact"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(webtest.Text(b.Get("/audit").Body))
		}
	}
	webtest.HasTexts(t, b.Get("/audit"), http.StatusOK, "by marta")
	webtest.HasTexts(t, b.Get("/audit?q=action:audit.verify"), http.StatusOK, "audit.verify", "completed")
}
