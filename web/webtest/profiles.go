package webtest

import (
	"net/http"
	"path"
	"strings"
	"testing"
)

// HasProfiles checks the field of the profile in a form that starts runs of a plan: the profile is one of those of the plan, and
// until the form has a plan, it can be typed. list is the address of the section, mark is a text in the form, and form are the
// other fields of a valid form with the key x.
func HasProfiles(t *testing.T, site *Site, b *Browser, list, mark string, form ...string) {
	t.Helper()
	site.Plan(t, "id: payout\nnodes: {a: {type: set, input: 1}}\nprofiles: {dev: {priority: 1}, prod: {priority: 2}}\n")
	const asSelect, asText = `<select name="profile">`, `<input type="text" name="profile"`
	page, edit := path.Join(list, "new"), path.Join(list, "x", "edit")
	HasTexts(t, b.Get(page), http.StatusOK, asText, `hx-get="`+page+`"`)
	HasTexts(t, b.Get(page+"?plan=payout"), http.StatusOK, asSelect, ">dev<", ">prod<")
	for query, want := range map[string]string{"plan=payout&profile=prod": `value="prod" selected`, "plan=payout&version=9": asText,
		"plan=missing&profile=prod": `value="prod"`, "plan=payout&version=x": asText} {
		part := b.Fragment(t, page+"?"+query, "profile")
		if !strings.Contains(part.Body, want) || strings.Contains(part.Body, "<form") {
			t.Errorf("%s: %d %s, want %s", query, part.Code, part.Body, want)
		}
	}
	form = append(form, "key", "x", "plan", "payout")
	HasTexts(t, b.Send(t, page, mark, append(form, "profile", "prdo")...), http.StatusUnprocessableEntity, "dev, prod",
		`value="prdo" selected`)
	HasTexts(t, b.Send(t, page, mark, append(form, "profile", "prod")...), http.StatusOK, ">prod<")
	HasTexts(t, b.Get(edit), http.StatusOK, `value="prod" selected`, `hx-get="`+edit+`"`)
	if part := b.Fragment(t, edit+"?plan=payout&profile=dev", "profile"); !strings.Contains(part.Body, `value="dev" selected`) {
		t.Errorf("the field of an edit: %s", part.Body)
	}
}
