package start_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// A form with invalid input is shown again with the entered values. Each error is at its field and
// in the list above the form, which gets the focus.
func TestTheStartFormSpeaksOfItsFields(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, `
id: invoice
input:
  type: object
  required: [customer, amount]
  properties:
    customer: {type: string, title: Customer}
    amount: {type: number, minimum: 1}
    note: {type: string}
nodes:
  a: {type: set, input: "${input}"}
`)
	site.Plan(t, "id: loose\ninput: {type: object, properties: {note: {type: string}}}\nnodes:\n  a: {type: set, input: \"${input}\"}\n")
	site.Plan(t, "id: bare\ninput: {type: array}\nnodes:\n  a: {type: set, input: \"${input}\"}\n")
	b := site.Browser(t).Login()
	form := b.Get("/plans/invoice/start").Hidden()
	p := b.Post("/plans/invoice/start", form)
	webtest.HasTexts(
		t,
		p,
		http.StatusUnprocessableEntity,
		"The run was not started: 2 values are missing or invalid.",
		`href="#f-customer">Customer: Required`,
		`href="#f-amount">amount: Required`,
		`id="f-customer"`,
		`aria-invalid="true"`,
		`aria-describedby="f-customer-why"`,
		`tabindex="-1" autofocus`,
	)
	if strings.Contains(p.Body, "got null") {
		t.Error("the form mentions JSON")
	}
	form.Set("f.customer", "Ada & Co")
	form.Set("f.amount", "0")
	webtest.HasTexts(
		t,
		b.Post("/plans/invoice/start", form),
		http.StatusUnprocessableEntity,
		"1 value is missing or invalid",
		`href="#f-amount">amount: `,
		`value="Ada &amp; Co"`,
		`value="0"`,
	)
	form.Set("f.amount", "12.50")
	if p := b.Post("/plans/invoice/start", form); p.Code != http.StatusSeeOther {
		t.Errorf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	form = b.Get("/plans/loose/start").Hidden()
	if p := b.Post("/plans/loose/start", form); p.Code != http.StatusSeeOther {
		t.Errorf("a form whose fields may all be empty: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	form = b.Get("/plans/bare/start").Hidden()
	webtest.HasTexts(t, b.Post("/plans/bare/start", form), http.StatusUnprocessableEntity, "this plan requires an input")
}

// The form and the page of a plan show what the plan sets for its runs.
func TestTheFormShowsTheSettingsOfThePlan(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, `
id: refund
labels: {team: payments, order: "${input.order}"}
priority: 7
timeout: 10m
concurrency: {key: "order-${input.order}", limit: 2, on_conflict: skip}
nodes:
  a: {type: set, input: "${input}"}
`)
	b := site.Browser(t).Login()
	for _, page := range []string{"/plans/refund", "/plans/refund/start"} {
		webtest.HasTexts(t, b.Get(page), http.StatusOK, "order-${input.order}: 2 active, others are not started", "<dd>7</dd>",
			"<dd>10m 0s</dd>", "order=${input.order}", "team=payments")
	}
}
