package approvals_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// Steps in doubt are listed with the approvals, and count in the navigation. Those of the same step form one entry.
func TestDoubtsWaitBesideApprovals(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	site.Run(t, "payment", "null")
	webtest.HasTexts(t, b.Get("/approvals"), http.StatusOK, "Refund 240?", "/runs/"+seed.InDoubt.ID,
		"Did the call of pay happen?", "2 runs alike", "Look it up")
	counts, err := site.Store.RunCounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	webtest.HasTexts(t, b.Get("/system"), http.StatusOK, fmt.Sprintf(`<span class="n">%d</span>`, counts.OpenApprovals+2))
	webtest.HasTexts(t, b.Get("/approvals?status=approved"), http.StatusOK, "No approval is in this state.")
}
