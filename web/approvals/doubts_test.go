package approvals_test

import (
	"net/http"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// What is in doubt is found beside the approvals.
func TestDoubtsWaitBesideApprovals(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	webtest.HasTexts(t, b.Get("/approvals"), http.StatusOK, "Refund 240?", "/runs/"+seed.InDoubt.ID, "may or may not have happened")
	webtest.HasTexts(t, b.Get("/approvals?status=approved"), http.StatusOK, "No approval is in this state.")
}
