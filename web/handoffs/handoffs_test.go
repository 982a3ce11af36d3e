package handoffs_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The list shows the handoffs of all runs, filtered, and the runs with loops between agents.
func TestAllHandoffs(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	webtest.HasTexts(t, b.Get("/handoffs"), http.StatusOK, "No agent has handed work to another yet.")
	site.Plan(t, "id: talk\nnodes:\n  answer: {type: agent, agent: desk}\n")
	run := site.Run(t, "talk", `"what is 6*7"`)
	list, err := site.Store.Handoffs(t.Context(), run.ID)
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	sum := sha256.Sum256([]byte("compute 6*7"))
	webtest.HasTexts(
		t,
		b.Get("/runs/"+run.ID+"?view=handoffs"),
		http.StatusOK,
		"with the tools calculator",
		"sha256:"+hex.EncodeToString(sum[:6]),
	)
	p := b.Get("/handoffs")
	webtest.HasTexts(
		t,
		p,
		http.StatusOK,
		"desk",
		"accountant",
		"compute 6*7",
		"/runs/"+run.ID+"?view=handoffs",
		"returned",
		"q=from%3Adesk",
		"q=to%3Aaccountant",
	)
	webtest.HasTexts(t, b.Get("/handoffs?q=from:desk+to:accountant+plan:talk+status:returned+since:1h"), http.StatusOK, "compute 6*7")
	webtest.HasTexts(t, b.Get("/handoffs?q=from:accountant+to:desk+status:failed"), http.StatusOK, "No handoff matches.",
		"Remove the filter", `href="/handoffs?q=from%3Aaccountant+status%3Afailed"`)
	webtest.HasTexts(t, b.Get("/handoffs?q=status:failt"), http.StatusBadRequest, "Did you mean status:failed?")
	webtest.HasTexts(t, b.Get("/handoffs?q=frm:desk"), http.StatusBadRequest, "Did you mean from:desk?")
	webtest.HasTexts(t, b.Get("/handoffs?view=loops"), http.StatusOK, "No run goes back and forth.")
	oneHandoff(t, site, b, list[len(list)-1])
	if strings.Contains(p.Body, "ZgotmplZ") {
		t.Error("an address was rejected")
	}

	// Two agents pass work back and forth three times.
	ping := domain.Checkpoint{Run: site.Run(t, "talk", `"break"`).ID}
	r, err := site.Store.FindRun(t.Context(), ping.Run)
	if err != nil {
		t.Fatal(err)
	}
	ping.Fence = r.LastSeq
	ping.Entries = []domain.Entry{{Kind: domain.EntryAction, Item: -1, At: r.CreatedAt}}
	for i := range 4 {
		from, to := "desk", "accountant"
		if i%2 == 1 {
			from, to = to, from
		}
		ping.Handoffs = append(
			ping.Handoffs,
			domain.Handoff{
				ID:     domain.NewID(),
				Run:    r.ID,
				Seq:    r.LastSeq + 1,
				From:   from,
				To:     to,
				Node:   "answer",
				Reason: "clarification",
				At:     r.CreatedAt,
			},
		)
	}
	if err := site.Store.Commit(t.Context(), ping); err != nil {
		t.Fatal(err)
	}
	webtest.HasTexts(t, b.Get("/handoffs?view=loops"), http.StatusOK, "accountant ⇄ desk", domain.ShortID(r.ID))
	// The list shows the text that agents pass on, not the data of a step. If there is no text, it
	// must not claim that nothing was passed on.
	unsaid := b.Get("/handoffs?q=plan:talk")
	webtest.HasTexts(t, unsaid, http.StatusOK, `href="/handoffs/`+ping.Handoffs[0].ID+`">on its own page</a>`)
	if strings.Contains(unsaid.Body, ">nothing<") {
		t.Error("the list shows that there are no handoffs although reading them failed")
	}
}

// oneHandoff checks the page of a handoff. It shows the input, the tools, the result, and how the
// input became the result. The other handoffs of the run link to it.
func oneHandoff(t *testing.T, site *webtest.Site, b *webtest.Browser, h domain.Handoff) {
	t.Helper()
	sum := sha256.Sum256([]byte("compute 6*7"))
	page := "/handoffs/" + url.PathEscape(h.ID)
	all := []string{
		"desk → accountant",
		"capability match",
		"returned",
		"calculator",
		"compute 6*7",
		hex.EncodeToString(sum[:6]),
		"Result returned",
		">42<",
		"From context to result",
		"/runs/" + h.Run + "?step=",
		"/agents/agents/accountant",
	}
	webtest.HasTexts(t, b.Get("/handoffs"), http.StatusOK, page)
	webtest.HasTexts(t, b.Get(page), http.StatusOK, all...)
	webtest.HasTexts(t, b.Get("/runs/"+h.Run+"?view=handoffs"), http.StatusOK, "handoff="+url.QueryEscape(h.ID))
	webtest.HasTexts(t, b.Get("/runs/"+h.Run+"?view=handoffs&handoff="+url.QueryEscape(h.ID)), http.StatusOK, append(all, page)...)
	webtest.HasTexts(t, b.Get(page[:len(page)-1]), http.StatusNotFound, "Handoffs with a matching ID", page+`"`)
	webtest.HasTexts(t, b.Get("/handoffs/nothing"), http.StatusNotFound, "Handoff nothing not found.", `href="/handoffs"`)
	var d domain.HandoffDetail
	p := b.Get("/api/v1" + page)
	if err := json.Unmarshal([]byte(p.Body), &d); err != nil || p.Code != http.StatusOK {
		t.Fatal(p.Code, err, p.Body)
	}
	if d.Status != "returned" || !strings.Contains(string(d.Result), "42") || !slices.Contains(d.Tools, "calculator") || d.Giver == nil ||
		d.Receiver == nil ||
		d.Usage.Zero() ||
		d.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("%+v", d)
	}
	// The page shows the same status as the lists, which query the database.
	seen, err := site.Store.Handoff(t.Context(), h.ID)
	if err != nil || seen.Status != d.Status {
		t.Error(seen, err)
	}
}
