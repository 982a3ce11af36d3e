package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/webtest"
)

// Who gave what to whom, in all runs: filtered, as a matrix with the share that
// failed, and the runs that go back and forth (UI 3.3.11).
func TestAllHandoffs(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	says(t, b.Get("/handoffs"), http.StatusOK, "No agent has handed work to another yet.")
	site.Plan(t, "id: talk\nnodes:\n  answer: {type: agent, agent: desk}\n")
	run := site.Run(t, "talk", `"what is 6*7"`)
	list, err := site.Store.Handoffs(t.Context(), run.ID)
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	sum := sha256.Sum256([]byte("compute 6*7"))
	says(t, b.Get("/runs/"+run.ID+"?view=handoffs"), http.StatusOK, "with the tools calculator", "sha256:"+hex.EncodeToString(sum[:6]))
	p := b.Get("/handoffs")
	says(t, p, http.StatusOK, "From whom to whom", "desk", "accountant", "compute 6*7", "/runs/"+run.ID+"?view=handoffs", "returned", "from%3Adesk+to%3Aaccountant")
	says(t, b.Get("/handoffs?q=from:desk+to:accountant+plan:talk+status:returned+since:1h"), http.StatusOK, "compute 6*7")
	says(t, b.Get("/handoffs?q=from:accountant+to:desk+status:failed"), http.StatusOK, "No handoff matches.")
	says(t, b.Get("/handoffs?q=status:failt"), http.StatusBadRequest, "Did you mean status:failed?")
	says(t, b.Get("/handoffs?q=frm:desk"), http.StatusBadRequest, "Did you mean from:desk?")
	says(t, b.Get("/handoffs?view=loops"), http.StatusOK, "No run goes back and forth.")
	if strings.Contains(p.Body, "ZgotmplZ") {
		t.Error("an address was refused")
	}

	// The same two, there and back, three times.
	ping := kairos.Checkpoint{Run: site.Run(t, "talk", `"break"`).ID}
	r, err := site.Store.FindRun(t.Context(), ping.Run)
	if err != nil {
		t.Fatal(err)
	}
	ping.Fence = r.LastSeq
	ping.Entries = []kairos.Entry{{Kind: kairos.EntryVerb, Item: -1, At: r.CreatedAt}}
	for i := range 4 {
		from, to := "desk", "accountant"
		if i%2 == 1 {
			from, to = to, from
		}
		ping.Handoffs = append(ping.Handoffs, kairos.Handoff{ID: kairos.NewID(), Run: r.ID, Seq: r.LastSeq + 1, From: from, To: to, Node: "answer", Reason: "clarification", At: r.CreatedAt})
	}
	if err := site.Store.Commit(t.Context(), ping); err != nil {
		t.Fatal(err)
	}
	says(t, b.Get("/handoffs?view=loops"), http.StatusOK, "accountant ⇄ desk", kairos.ShortID(r.ID))
}
