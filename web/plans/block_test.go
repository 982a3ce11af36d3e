package plans_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The page of a plan shows a block as one step. Runs of the block lead to a page of its own.
func TestAPlanWithABlock(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	site.Plan(t, "id: orders\nnodes:\n  ship: {foreach: [7, 8], do: {nodes: {label: {type: set, input: \"label ${item}\"}}}}\n")
	run, err := site.Engine.Start(t.Context(), site.Admin, domain.StartRequest{Plan: "orders"})
	if err != nil {
		t.Fatal(err)
	}
	if run, err = site.Engine.Wait(t.Context(), run.ID); err != nil || string(run.Output) != `["label 7","label 8"]` {
		t.Fatalf("%s %v", run.Output, err)
	}
	webtest.Has(t, b.Get("/plans/orders"), "the plan", "block of 1, for each", "contains label", ">label</text>")
	webtest.Has(t, b.Get("/runs/"+run.ID), "the run", "contains label")
	children, err := site.Store.Lineage(t.Context(), run.ID)
	if err != nil || len(children) != 2 {
		t.Fatalf("%d children, %v", len(children), err)
	}
	webtest.Has(t, b.Get("/runs/"+children[0].ID), "the run of the block", `href="/plans/orders%2Fship"`)
	page := b.Get("/plans/orders%2Fship")
	webtest.Has(t, page, "the block", "orders/ship", "label", `href="/plans/orders"`, "Open plan orders")
	if strings.Contains(page.Body, "/edit?base=") || strings.Contains(page.Body, "/start") {
		t.Error("a block can be edited or started apart from its plan")
	}
}
