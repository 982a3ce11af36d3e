package run_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

const triage = `
id: invoice-triage
name: Invoice triage
nodes:
  fetch_invoices: {type: http, input: {url: "https://erp.example/list"}}
  classify: {type: agent, agent: triage, input: "${last}"}
  has_attachments: {type: decision}
  ocr_pages: {type: http, effect: read, retry: {max_attempts: 3}, input: {url: "https://ocr.example/run"}}
  handoff_extractor: {type: agent, agent: extractor, input: "${last}"}
  extract_totals: {type: llm, retry: {max_attempts: 3}, timeout: 30s, input: "Totals of ${last}"}
  validate: {type: json, input: {value: "${last}", path: total}}
  needs_review: {type: decision}
  ask_human: {type: approval, input: {message: "Post it?"}}
  post_ledger: {type: http, effect: unsafe, input: {method: POST, url: "https://erp.example/post"}}
  request_scan: {type: http, input: {url: "https://mail.example/send"}}
edges:
  - {from: fetch_invoices, to: classify}
  - {from: classify, to: has_attachments}
  - {from: has_attachments, to: ocr_pages, condition: "last==yes"}
  - {from: has_attachments, to: request_scan, condition: default}
  - {from: ocr_pages, to: handoff_extractor}
  - {from: handoff_extractor, to: extract_totals}
  - {from: extract_totals, to: validate}
  - {from: validate, to: needs_review}
  - {from: needs_review, to: ask_human, condition: "expr: last.total > 1000"}
  - {from: needs_review, to: post_ledger, condition: default}
  - {from: ask_human, to: post_ledger, condition: "last.approved==true"}
`

// limited returns the failure of the model's last attempts.
func limited() *domain.Failure {
	return &domain.Failure{Code: "provider_429", Message: "provider error 429 from openai/gpt-5.2: rate limit reached, retry after 38 s",
		Detail: "limit 30000 TPM, used 29811, requested 4120", Suggestion: "wait, or raise the limit of the provider"}
}

// failedStory is a run that failed after three attempts of a model call.
func failedStory(tb testing.TB) *story {
	s := tell(tb, "01jr8k2mf0s0000000007qx2", triage)
	sec := time.Second
	s.done(
		"fetch_invoices",
		"classify",
		0,
		11200*time.Millisecond,
		`{"invoice_id":"INV-20981","pages":[1,2,3,4,5,6],"currency":"EUR","vendor":{"name":"ACME","lines":[{"total":9223372036854775807}]}}`,
	)
	e := s.done("classify", "has_attachments", 11200*time.Millisecond, 36*sec, `"invoice"`)
	e.Usage = domain.Usage{InputTokens: 12000, OutputTokens: 400, Cost: 0.12}
	s.run.Usage = s.run.Usage.Add(e.Usage)
	s.done("has_attachments", "ocr_pages", 36*sec, 36100*time.Millisecond, `"yes"`)
	s.try(
		domain.Entry{Node: "ocr_pages", Effect: "read", Failure: &domain.Failure{Code: "timeout", Message: "no answer within 20 s"}},
		36100*time.Millisecond,
		58*sec,
		domain.NodeFailed,
		false,
	)
	s.row(58*sec, domain.Entry{Kind: domain.EntryWait, Node: "ocr_pages", Item: -1, Reason: "retry", Status: domain.NodeWaiting})
	s.try(
		domain.Entry{
			Node:     "ocr_pages",
			Attempt:  2,
			Output:   domain.RawJSON(`{"text":"Total: 118.000,00 €"}`),
			Decision: s.leads("ocr_pages", "handoff_extractor"),
		},
		62*sec,
		107*sec,
		domain.NodeCompleted,
		true,
	)
	e = s.done("handoff_extractor", "extract_totals", 107*sec, 107600*time.Millisecond, `{"fields":["total","currency"]}`)
	e.Agent = "extractor"
	s.handoffs = append(
		s.handoffs,
		domain.Handoff{
			ID:      "h1",
			Run:     s.run.ID,
			Seq:     e.Seq - 1,
			From:    "triage",
			To:      "extractor",
			Node:    "handoff_extractor",
			Reason:  "plan_step",
			Context: `{"pages": 6}`,
			At:      e.StartedAt,
		},
	)
	for i, span := range [][2]int{{109, 139}, {144, 174}, {191, 221}} {
		s.try(
			domain.Entry{
				Node:    "extract_totals",
				Attempt: i + 1,
				Input: domain.RawJSON(
					`{"invoice_id":"INV-20981","pages":[1,2,3,4,5,6],"currency":"EUR","vendor":{"name":"ACME","vat":"B123"}}`,
				),
				Failure: limited(),
				Log:     domain.RawJSON(`{"lines":[{"at":"2026-03-09T01:46:00Z","level":"warn","message":"asked again after 429"}]}`),
			},
			time.Duration(span[0])*sec,
			time.Duration(span[1])*sec,
			domain.NodeFailed,
			i == 2,
		)
		if i < 2 {
			s.row(
				time.Duration(span[1])*sec,
				domain.Entry{
					Kind:    domain.EntryWait,
					Node:    "extract_totals",
					Item:    -1,
					Attempt: i + 1,
					Reason:  "retry",
					Status:  domain.NodeWaiting,
				},
			)
		}
	}
	s.ends(221*sec, domain.RunFailed)
	s.run.Headline = "extract_totals failed after 3 of 3 attempts"
	s.run.Error = &domain.RunError{Code: "provider_429", Node: "extract_totals", Message: limited().Message}
	return s
}

// waitingStory is a run that has waited for an approval for 15 minutes.
func waitingStory(tb testing.TB) *story {
	s := tell(tb, "01jr8k2mf0s0000000007qx3", triage)
	sec := time.Second
	s.done("fetch_invoices", "classify", 0, 11*sec, `{"invoice_id":"INV-20981"}`)
	s.done("classify", "has_attachments", 11*sec, 36*sec, `"invoice"`)
	s.done("has_attachments", "ocr_pages", 36*sec, 36*sec, `"yes"`)
	s.done("ocr_pages", "handoff_extractor", 36*sec, 80*sec, `{"text":"Total"}`)
	s.done("handoff_extractor", "extract_totals", 80*sec, 81*sec, `{}`)
	s.done("extract_totals", "validate", 81*sec, 100*sec, `{"total":118000}`)
	s.done("validate", "needs_review", 100*sec, 101*sec, `{"total":118000}`)
	s.done("needs_review", "ask_human", 101*sec, 101*sec, `{"total":118000}`)
	s.row(
		102*sec,
		domain.Entry{
			Kind:      domain.EntryWait,
			Node:      "ask_human",
			Item:      -1,
			Reason:    "approval",
			Status:    domain.NodeWaiting,
			Ref:       "a1",
			StartedAt: storyStart.Add(102 * sec),
			Input:     domain.RawJSON(`{"message":"Post it?"}`),
		},
	)
	s.ends(0, domain.RunWaiting)
	s.run.WaitReason, s.run.Headline, s.run.Node = domain.WaitApproval, "Post INV-20981, 118,000.00 EUR?", "ask_human"
	s.waits = []domain.Wait{
		{
			Node:    "ask_human",
			Visit:   1,
			Item:    -1,
			Reason:  domain.WaitApproval,
			Since:   storyStart.Add(102 * sec),
			Message: "Post INV-20981, 118,000.00 EUR?",
		},
	}
	s.approval = []domain.Approval{
		{
			ID:        "a1",
			Run:       s.run.ID,
			PlanKey:   "invoice-triage",
			Node:      "ask_human",
			Visit:     1,
			Item:      -1,
			Message:   "Post INV-20981, 118,000.00 EUR?",
			Digest:    "d",
			Status:    "pending",
			CreatedAt: storyStart.Add(102 * sec),
		},
	}
	return s
}

// manyStory is a run with n items, some of which failed.
func manyStory(tb testing.TB, id string, n int) *story {
	s := tell(tb, id, `
id: mailing
nodes:
  list: {type: set, input: {people: []}}
  send: {type: http, needs: [list], foreach: "${output.list.people}", effect: idempotent, input: {method: PUT, url: "https://mail.example/${item}"}}
  report: {type: set, needs: [send], input: 1}
`)
	s.done("list", "", 0, 100*time.Millisecond, `{"people":[]}`)
	for i := range n {
		from := 100*time.Millisecond + time.Duration(i)*20*time.Millisecond
		e := domain.Entry{
			Kind:      domain.EntryResult,
			Node:      "send",
			Item:      i,
			Status:    domain.NodeCompleted,
			Final:     true,
			Effect:    "idempotent",
			StartedAt: storyStart.Add(from),
			Output:    domain.RawJSON(fmt.Sprint(i)),
		}
		if i%1999 == 1998 || n < 10 && i == 3 {
			e.Status, e.Output, e.Failure = domain.NodeFailed, nil, &domain.Failure{Code: "http_status", Message: "550 no such mailbox"}
		}
		s.row(from+15*time.Millisecond, e)
	}
	s.ends(200*time.Millisecond+time.Duration(n)*20*time.Millisecond, domain.RunFailed)
	s.run.Headline = "send failed"
	s.run.Error = &domain.RunError{Code: "http_status", Node: "send", Message: "550 no such mailbox"}
	return s
}

// loopStory is a run in its fourth iteration, in which agents call models and tools.
func loopStory(tb testing.TB) *story {
	s := tell(tb, "01jr8k2mf0s0000000007qx5", `
id: letter
start: draft
nodes:
  draft: {type: agent, agent: writer, max_visits: 5, input: "Write"}
  review: {type: decision, max_visits: 5}
  improve: {type: agent, agent: editor, max_visits: 5, input: "Improve"}
  publish: {type: http, effect: unsafe, input: {url: "https://example.com"}}
edges:
  - {from: draft, to: review}
  - {from: review, to: publish, condition: "last==good"}
  - {from: review, to: improve, condition: default}
  - {from: improve, to: draft}
`)
	at := 500 * time.Millisecond
	for visit := 1; visit <= 3; visit++ {
		for _, n := range []struct{ node, to, out string }{{"draft", "review", `"Dear all"`}, {"review", "improve", `"weak"`},
			{"improve", "draft", `"less of it"`}} {
			if visit == 3 && n.node == "improve" {
				break
			}
			e := domain.Entry{
				Node:     n.node,
				Visit:    visit,
				Item:     -1,
				Agent:    "writer",
				Decision: s.leads(n.node, n.to),
				Output:   domain.RawJSON(n.out),
			}
			took := 20 * time.Millisecond
			if n.node != "review" {
				took = 8 * time.Second
				e.StartedAt = storyStart.Add(at)
				s.row(
					at,
					domain.Entry{
						Kind:      domain.EntryIntent,
						Node:      n.node,
						Visit:     visit,
						Item:      -1,
						Status:    domain.NodeRunning,
						StartedAt: storyStart.Add(at),
						Input:     domain.RawJSON(`"Write"`),
					},
				)
				s.row(
					at+5*time.Second,
					domain.Entry{
						Kind:      domain.EntrySubstep,
						Node:      n.node,
						Visit:     visit,
						Item:      -1,
						Substep:   1,
						Status:    domain.NodeCompleted,
						Decision:  domain.RawJSON(`{"kind":"model"}`),
						StartedAt: storyStart.Add(at),
						Usage:     domain.Usage{InputTokens: 900, OutputTokens: 40, Cost: 0.01},
						Output: domain.RawJSON(
							`{"text":"I look it up","calls":[{"tool":"http","arguments":"{\"url\":\"https://example.com\"}"}]}`,
						),
					},
				)
				s.row(
					at+6*time.Second,
					domain.Entry{
						Kind:      domain.EntrySubstep,
						Node:      n.node,
						Visit:     visit,
						Item:      -1,
						Substep:   2,
						Status:    domain.NodeCompleted,
						Decision:  domain.RawJSON(`{"kind":"tool:http"}`),
						StartedAt: storyStart.Add(at + 5*time.Second),
						Output:    domain.RawJSON(`{"status":200}`),
					},
				)
				e.Kind, e.Status, e.Final = domain.EntryResult, domain.NodeCompleted, true
				s.row(at+took, e)
			} else {
				s.try(e, at, at+took, domain.NodeCompleted, true)
			}
			at += took + 100*time.Millisecond
		}
	}
	s.try(
		domain.Entry{Node: "improve", Visit: 3, Item: -1, Agent: "editor", Input: domain.RawJSON(`"Improve"`)},
		17*time.Minute+20*time.Second,
		0,
		"",
		false,
	)
	s.run.Headline = "improve runs"
	return s
}

// forkStory is a fork that reuses the first half of the failed run.
func forkStory(tb testing.TB) *story {
	s := failedStory(tb)
	s.run.ID, s.run.ForkedFrom, s.run.ForkSeq = "01jr8k2mf0s0000000007qx6", s.run.ID, 11
	s.journal = s.journal[:11]
	s.run.CreatedAt, s.run.StartedAt, s.run.Error = storyStart.Add(10*time.Minute), storyStart.Add(10*time.Minute), nil
	s.try(
		domain.Entry{
			Node:     "extract_totals",
			Item:     -1,
			Output:   domain.RawJSON(`{"total":118000}`),
			Decision: s.leads("extract_totals", "validate"),
		},
		10*time.Minute+time.Second,
		10*time.Minute+12*time.Second,
		domain.NodeCompleted,
		true,
	)
	s.ends(10*time.Minute+13*time.Second, domain.RunCancelled)
	s.run.Headline = "cancelled by marta"
	return s
}

// hostileStory is a run with markup and invisible characters in all texts.
func hostileStory(tb testing.TB) *story {
	s := tell(
		tb,
		"01jr8k2mf0s0000000007qx7",
		"id: echo\nnodes:\n  say: {type: set, input: 1}\n  fail: {type: log, input: x}\nedges: [{from: say, to: fail}]\n",
	)
	bad := "<script>alert(1)</script>\u202eevil\x1b[31mred\x00 </textarea> hx-get=\"/x\" " + strings.Repeat("A", 500)
	s.run.Input = encoded(bad)
	s.done("say", "fail", 0, time.Second, string(encoded(bad)))
	s.try(
		domain.Entry{
			Node:    "fail",
			Failure: &domain.Failure{Code: "tool_failed", Message: bad, Stack: bad},
			Log:     domain.RawJSON(fmt.Sprintf(`{"lines":[{"level":"info","message":%s}]}`, encoded(bad))),
		},
		time.Second,
		2*time.Second,
		domain.NodeFailed,
		true,
	)
	s.ends(2*time.Second, domain.RunFailed)
	s.run.Headline = "fail failed: " + bad[:60]
	s.run.Error = &domain.RunError{Code: "tool_failed", Node: "fail", Message: bad}
	return s
}

// emptyStory is a run that waits for its first slot.
func emptyStory(tb testing.TB) *story {
	s := tell(tb, "01jr8k2mf0s0000000007qx8", triage)
	s.run.StartedAt = time.Time{}
	s.run.Status = domain.RunQueued
	return s
}

// wideStory is a run of n steps in a row.
func wideStory(tb testing.TB, id string, n int) *story {
	s := tell(tb, id, webtest.ChainPlan("wide", n))
	for i := range n {
		to := ""
		if i+1 < n {
			to = fmt.Sprintf("step_%d", i+1)
		}
		e := s.done(
			fmt.Sprintf("step_%d", i),
			to,
			time.Duration(i)*100*time.Millisecond,
			time.Duration(i)*100*time.Millisecond+90*time.Millisecond,
			fmt.Sprint(i),
		)
		e.Input = nil
	}
	s.ends(time.Duration(n)*100*time.Millisecond, domain.RunCompleted)
	return s
}
