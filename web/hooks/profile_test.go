package hooks_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// The profile is one of those of the plan. Until the form has a plan, it can be typed.
func TestTheProfileIsOneOfThePlan(t *testing.T) {
	t.Parallel()
	site, b := shop(t)
	site.Plan(t, "id: payout\nnodes: {a: {type: set, input: 1}}\nprofiles: {dev: {priority: 1}, prod: {priority: 2}}\n")
	const page, asSelect, asText = "/events/hooks/new", `<select name="profile">`, `<input type="text" name="profile"`
	webtest.HasTexts(t, b.Get(page), http.StatusOK, asText, `hx-get="/events/hooks/new"`)
	webtest.HasTexts(t, b.Get(page+"?plan=payout"), http.StatusOK, asSelect, ">dev<", ">prod<")
	for query, want := range map[string]string{"plan=payout&profile=prod": `value="prod" selected`, "plan=payout&version=9": asText,
		"plan=missing&profile=prod": `value="prod"`, "plan=payout&version=x": asText} {
		part := b.Fragment(t, page+"?"+query, "profile")
		if !strings.Contains(part.Body, want) || strings.Contains(part.Body, "<form") {
			t.Errorf("%s: %d %s, want %s", query, part.Code, part.Body, want)
		}
	}
	form := []string{"key", "x", "plan", "payout", "scheme", "bearer", "secret", "S"}
	webtest.HasTexts(t, send(t, b, page, `name="scheme"`, append(form, "profile", "prdo")...), http.StatusUnprocessableEntity,
		"dev, prod", `value="prdo" selected`)
	webtest.HasTexts(t, send(t, b, page, `name="scheme"`, append(form, "profile", "prod")...), http.StatusOK, ">prod<")
	webtest.HasTexts(t, b.Get("/events/hooks/x/edit"), http.StatusOK, `value="prod" selected`, `hx-get="/events/hooks/x/edit"`)
	if part := b.Fragment(t, "/events/hooks/x/edit?plan=payout&profile=dev", "profile"); !strings.Contains(part.Body, `value="dev" selected`) {
		t.Errorf("the field of an edit: %s", part.Body)
	}
}
