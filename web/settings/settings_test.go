package settings_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

func TestSettingsAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	for path, wants := range map[string][]string{
		"/settings/access":    {"/etc/kairos/kairos.yaml", "server.hosts", "kairos.example.com", "command line", "default"},
		"/settings/secrets":   {"BANK", "file /etc/kairos/bank", "bank.example.com", "none none none"},
		"/settings/retention": {"all other plans", "90d", "invoice", "forever", "10,000", "Applied every 1h"},
		"/settings/notifications": {"ops webhook", "http://127.0.0.1", "Signature signed", "a run failed",
			"ops@example.com", "Plans ledger"},
	} {
		p := b.Get(path)
		for _, want := range wants {
			if p.Code != http.StatusOK || !strings.Contains(webtest.Text(p.Body), want) {
				t.Errorf("%s: status %d, and the page does not contain %q:\n%s", path, p.Code, want, webtest.Text(p.Body))
			}
		}
		if strings.Contains(p.Body, "secret-path") {
			t.Errorf("%s shows the path of a webhook, which may be a secret", path)
		}
	}
}

func TestATestMessageShowsItsResult(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	f := webtest.Form(t, b.Get("/settings/notifications").Body, "/ops/test")
	if p := b.Post("/settings/notifications/ops/test", f); p.Code != http.StatusSeeOther || p.Location != "/settings/notifications" {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Body)
	}
	b.Post("/settings/notifications/ops/test", f) // a repeated request sends no second message
	text := webtest.Text(b.Get("/settings/notifications").Body)
	if strings.Count(text, "a test delivered 1") != 1 {
		t.Errorf("the message is not listed once: %s", text)
	}
	f = webtest.Form(t, b.Get("/settings/notifications").Body, "/mail%20%3Cb%3E/test")
	b.Post("/settings/notifications/mail%20%3Cb%3E/test", f)
	if text := webtest.Text(b.Get("/settings/notifications").Body); !strings.Contains(text, "a test waits until") ||
		!strings.Contains(text, "refused") {
		t.Errorf("the mail that cannot be sent is shown as: %s", text)
	}
	if !site.Audited(t)["notification.test"] {
		t.Error("the test is not in the audit log")
	}
}
