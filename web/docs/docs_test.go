package docs_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// Every page in the index is served, and its links resolve.
func TestEveryPageOfTheDocumentationIsServed(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	seen := map[string]bool{"/docs": true}
	queue := []string{"/docs"}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		p := b.Get(at)
		if p.Code != http.StatusOK {
			t.Errorf("%s: got status %d, want %d", at, p.Code, http.StatusOK)
			continue
		}
		if strings.Contains(p.Body, "raw HTML omitted") {
			t.Errorf("%s has HTML in its Markdown", at)
		}
		for _, part := range strings.Split(p.Body, `"/docs`)[1:] {
			to, _, _ := strings.Cut(part, `"`)
			to, _, _ = strings.Cut("/docs"+to, "#")
			if !seen[to] && !strings.Contains(to, "?") {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d pages", len(seen))
	}
}

// The first results of a search answer common questions.
func TestQuestionsFindTheirAnswers(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	for question, answer := range map[string]string{
		"how do I retry a step":       "reference/plan-language#retries",
		"backup":                      "guides/backups#back-up",
		"how do I back up":            "guides/backups#back-up",
		"log in":                      "reference/configuration#login",
		"queued run does not start":   "troubleshooting#a-queued-run-does-not-start",
		"certificate expired":         "troubleshooting#the-certificate-has-expired",
		"email not sent":              "troubleshooting#a-notification-was-not-sent",
		"port already in use":         "troubleshooting#kairosd-does-not-start",
		"emergency stop":              "faq#how-do-i-pause-runs",
		"duplicate payment":           "faq#can-a-step-run-twice",
		"what happens if power fails": "explanation/durability#what-happens-after-a-crash",
		"change port":                 "faq#how-do-i-change-the-port",
		"reset password":              "guides/access#reset-a-password",
		"run is in doubt what now":    "troubleshooting#a-step-is-in-doubt",
		"limit cost":                  "guides/budgets",
		"disk full":                   "troubleshooting#the-disk-is-full",
		"upgrade":                     "guides/backups#upgrade",
		"call from Go":                "faq#how-do-i-call-kairosd-from-go-or-another-language",
		"cron":                        "guides/schedules#create-a-schedule",
		"slack":                       "guides/notifications#webhooks",
		"2fa":                         "guides/access#second-factor",
		"https certificate":           "guides/deploy#addresses-and-tls",
		"delete old runs":             "guides/retention",
		"my run is stuck":             "troubleshooting#a-run-waits-and-does-not-continue",
		"ollama":                      "guides/agents#configure-a-provider",
		"who may approve":             "faq#who-can-approve-a-request",
		"workflow":                    "faq#what-is-a-plan-and-how-does-it-differ-from-a-workflow",
		"loop":                        "reference/plan-language#loops",
		"foreach":                     "reference/plan-language#lists-with-foreach",
		"rate limit":                  "guides/agents#failures-of-providers",
		"tool_circuit_open":           "reference/errors#tool_circuit_open",
		"KAIROS_TOKEN":                "reference/environment",
		"resume":                      "get-started/concepts#resume-rerun-fork",
		"in doubt":                    "troubleshooting#a-step-is-in-doubt",
		"embed":                       "guides/embedding",
		"webhook":                     "guides/notifications#webhooks",
		"start run from webhook":      "faq#how-do-i-start-a-run-from-another-system",
		"docker":                      "faq#can-i-run-kairosd-in-a-container",
		"kubernetes":                  "faq#can-i-run-kairosd-in-a-container",
		"secrets":                     "reference/tools#secrets",
		"approval timeout":            "reference/plan-language#approvals",
		"human in the loop":           "faq#approvals",
		"parallel steps":              "reference/plan-language#parallel-branches",
		"api token":                   "guides/access#api-tokens",
		"grafana":                     "guides/monitoring#prometheus",
		"sso":                         "guides/access#single-sign-on-openid-connect",
		"exactly once":                "explanation/durability#not-guaranteed",
		"airflow":                     "explanation/comparison",
		"nginx":                       "guides/deploy#behind-a-reverse-proxy",
		"dry run":                     "reference/plan-language#dry-runs",
		"concurrency":                 "guides/start-runs#limit-concurrency",
		"cancel run":                  "faq#how-do-i-cancel-a-run",
		"pause":                       "faq#how-do-i-pause-runs",
		"pass data between steps":     "faq#how-do-i-pass-data-from-one-step-to-another",
		"move to another machine":     "faq#how-do-i-move-kairosd-to-another-machine",
		"rollback plan version":       "faq#how-do-i-restore-an-earlier-version-of-a-plan",
		"postgres":                    "faq#do-i-need-a-database-server",
		"trigger":                     "guides/start-runs",
		"generation":                  "reference/glossary",
		"wait reason":                 "reference/glossary",
		"cli":                         "reference/cli",
		"error handling":              "faq#how-do-i-handle-a-failure",
		"mcp":                         "reference/tools#mcp-servers",
	} {
		results := b.Get("/docs?q=" + url.QueryEscape(question)).Body
		first := regexp.MustCompile(`<h2><a href="/docs/([^"]*)"`).FindAllStringSubmatch(results, 3)
		found := slices.ContainsFunc(first, func(m []string) bool { return m[1] == answer })
		if !found {
			t.Errorf("%q does not find %s first, but %v", question, answer, first)
		}
	}
}

// A search finds pages, and shows a message if it finds none.
func TestTheDocumentationIsSearched(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	if p := b.Get("/docs?q=on_timeout+approval"); !strings.Contains(p.Body, "/docs/reference/plan-language#approvals") {
		t.Error("a search for on_timeout does not find the page about approvals")
	}
	for _, id := range []string{`id="mcpexit"`, `id="provider_auth"`, `id="http_429-and-other-http-statuses"`} {
		if p := b.Get("/docs/reference/errors"); !strings.Contains(p.Body, id) {
			t.Errorf("the error reference has no anchor %s, to which run pages link", id)
		}
	}
	if p := b.Get("/docs?q=nosuchwordanywhere"); !strings.Contains(p.Body, "Results: 0") {
		t.Error("a search without results does not report it")
	}
	if p := b.Get("/docs?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E"); strings.Contains(p.Body, "<script>alert") {
		t.Error("a search is not escaped")
	}
	for _, address := range []string{"/docs/nothing", "/docs/reference/nothing", "/docs/img/nothing.png", "/docs/..%2fgo/mod"} {
		if p := b.Get(address); p.Code != http.StatusNotFound {
			t.Errorf("%s: got status %d, want %d", address, p.Code, http.StatusNotFound)
		}
	}
}
