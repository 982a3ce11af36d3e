package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// URLs in outputs and errors are plain text with a button that copies exactly the URL. A value that
// consists of a URL has only the button of the value.
func TestAddressesInUntrustedTextAreCopied(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, `
id: mail
nodes:
  text: {type: set, input: "see (https://evil.example/a?b=1&c=2), or https://evil.example/z. Not javascript:alert(1)"}
  tree: {type: set, needs: [text], input: {only: "https://own.example/", more: ["ask https://evil.example/d!"]}}
  end: {type: json, needs: [tree], input: {value: 1, path: "https://evil.example/e"}}
`)
	run := site.Run(t, "mail", "null")
	b := site.Browser(t).Login()
	copies := func(address string) string {
		address = strings.ReplaceAll(address, "&", "&amp;")
		return `data-copy="" data-text="` + address + `" aria-label="Copy ` + address + `"`
	}
	for step, want := range map[string][]string{"text": {"https://evil.example/a?b=1&c=2", "https://evil.example/z"},
		"tree": {"https://evil.example/d"}, "end": {"https://evil.example/e"}} {
		p := b.Get("/runs/" + run.ID + "?step=" + step)
		for _, address := range want {
			webtest.HasTexts(t, p, http.StatusOK, copies(address))
		}
		if strings.Contains(p.Body, `href="http`) || strings.Contains(p.Body, copies("https://own.example/")) ||
			strings.Contains(p.Body, `data-text="javascript`) {
			t.Errorf("%s: an address is a link, or has two copy buttons: %s", step, webtest.Text(p.Body))
		}
	}
	if p := b.Get("/runs/" + run.ID + "?view=log"); strings.Contains(p.Body, copies("https://evil.example/z")) {
		t.Error("the log has a button for each address")
	}
}
