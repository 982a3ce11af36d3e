package approval

import (
	"net/url"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

// AnswersForm is the id of the form of the answer buttons in a list. The list is a live region, so
// the form is outside of it.
const AnswersForm = "once-answer"

const (
	// maxFacts is the maximum number of facts of a request in a list.
	maxFacts = 6
	// basisRows is the number of journal rows that are read for the facts.
	basisRows = 30
)

// Request is one pending request in a list, or a group of similar ones.
type Request struct {
	Role                     string // "need" or "doubt"
	Kind                     kit.Link
	Text, Href, Risk, Remark string
	Since                    kit.Time
	Actions                  []kit.Link
	Facts                    []kit.Fact
	// Answers are the answers that require only one click.
	Answers []kit.Link
	// Similar are all requests of a group. Together is their summary, and Open expands them.
	Similar      []SimilarRequest
	GroupAnswers string
	Open         bool
	Next         bool // the next request after a decision
	Current      bool // the request next to the list
}

// SimilarRequest is one request of a group.
type SimilarRequest struct {
	Request kit.Link
	Run     string
	Since   kit.Time
}

// Groups groups pending approvals by step, in the order of the first approval of each group.
func Groups(list []domain.Approval) [][]domain.Approval {
	return groupBy(list, func(a domain.Approval) [2]string { return [2]string{a.PlanKey, a.Node} })
}

// Doubts groups runs with an attempt in doubt by step.
func Doubts(list []domain.Run) [][]domain.Run {
	return groupBy(list, func(r domain.Run) [2]string { return [2]string{r.PlanKey, r.Node} })
}

func groupBy[T any](list []T, key func(T) [2]string) [][]T {
	var out [][]T
	at := map[[2]string]int{}
	for _, x := range list {
		k := key(x)
		if i, ok := at[k]; ok {
			out[i] = append(out[i], x)
			continue
		}
		at[k] = len(out)
		out = append(out, []T{x})
	}
	return out
}

// Request converts a group of approvals to a row of a list.
func (p Ports) Request(c *ui.Context, group []domain.Approval) Request {
	a := group[0]
	r := Request{
		Role:  "need",
		Kind:  kit.Link{Text: kit.Escape(a.PlanKey), Href: "/plans/" + url.PathEscape(a.PlanKey)},
		Text:  kit.Escape(kit.Truncate(a.Message, 200)),
		Href:  "/approvals/" + a.ID,
		Risk:  kit.Escape(kit.Truncate(a.Label, 80)),
		Since: c.Time(a.CreatedAt),
	}
	if n := len(group); n > 1 {
		r.GroupAnswers = c.N(n, "%s similar request", "%s similar requests")
		for _, a := range group {
			r.Similar = append(r.Similar, SimilarRequest{
				Request: kit.Link{Text: kit.Escape(kit.Truncate(a.Message, 200)), Href: "/approvals/" + a.ID},
				Run:     domain.ShortID(a.Run), Since: c.Time(a.CreatedAt),
			})
		}
	}
	return r
}

// DoubtRequest converts a group of runs with an attempt in doubt to a row of a list.
func DoubtRequest(c *ui.Context, group []domain.Run) Request {
	run := group[0]
	at := doubtAt(run)
	r := Request{
		Role:    "doubt",
		Kind:    kit.Link{Text: c.T("In doubt · %s", kit.Escape(run.PlanKey)), Href: "/plans/" + url.PathEscape(run.PlanKey)},
		Text:    c.T("Did the call of %s happen?", kit.Escape(run.Node)),
		Href:    at,
		Since:   c.Time(run.StartedAt),
		Remark:  part.Headline(c, run),
		Actions: []kit.Link{{Text: c.T("Look it up"), Href: at}},
	}
	if n := len(group); n > 1 {
		if c.Principal.Role.Includes(domain.RoleOperator) {
			r.Actions = append(r.Actions, kit.Link{
				Text: c.T("Decide together…"), Dialog: true,
				Href: link.With("/doubts", url.Values{"plan": {run.PlanKey}, "node": {run.Node}}),
			})
		}
		r.GroupAnswers = c.N(n, "%s run alike", "%s runs alike")
		for _, run := range group {
			short := domain.ShortID(run.ID)
			r.Similar = append(r.Similar, SimilarRequest{
				Request: kit.Link{Text: c.T("Run %s", short), Href: doubtAt(run)}, Since: c.Time(run.StartedAt),
			})
		}
	}
	return r
}

func doubtAt(run domain.Run) string {
	return "/runs/" + run.ID + "?step=" + url.QueryEscape(run.Node) + "#inspector"
}

// OneClick adds answers that require only one click. An answer applies to the message, the input of
// the run, and the previous outputs, so only a request that shows all of these can be answered in
// the list. back identifies the page to return to.
func (p Ports) OneClick(c *ui.Context, r *Request, a domain.Approval, back url.Values) error {
	card, err := p.Card(c, a)
	if err != nil {
		return err
	}
	facts, whole, err := p.basis(c, a)
	r.Facts = facts
	if err != nil || !whole || r.Text != card.Message || !card.Plain(c.Principal.Name) {
		return err
	}
	for _, x := range card.Answers {
		r.Answers = append(r.Answers, kit.Link{
			Key: x.ID, Text: x.Label, Danger: x.Rejects, Href: link.With(card.Action, back, "digest", a.Digest),
		})
	}
	return nil
}

// basis returns the input of the run and the previous outputs as facts, and whether they are
// complete.
func (p Ports) basis(c *ui.Context, a domain.Approval) (facts []kit.Fact, whole bool, err error) {
	run, err := c.Site.App.Runs.Find(c, c.Principal.Actor(), a.Run)
	if domain.CodeOf(err) == domain.CodeCorrupt {
		return nil, false, nil // the request's page shows the damage
	}
	if err != nil {
		return nil, false, err
	}
	journal, err := c.Site.App.Runs.Journal(c, c.Principal.Actor(), a.Run, 0, basisRows)
	if err != nil {
		return nil, false, err
	}
	facts, whole = Basis(a, run.Input, journal.Rows, maxFacts)
	return facts, whole && !journal.More && journal.Damage == "", nil
}

// Basis returns the input of the run and the outputs before the request as at most that many facts,
// without duplicates. It also reports whether the facts are complete.
func Basis(a domain.Approval, input domain.RawJSON, rows []domain.Entry, most int) (facts []kit.Fact, whole bool) {
	facts, whole = Facts(input, most)
	known := map[kit.Fact]bool{}
	for _, f := range facts {
		known[f] = true
	}
	for _, e := range rows {
		if e.Ref == a.ID || !e.Final || e.Output == nil {
			continue
		}
		more, all := Facts(e.Output, most)
		for _, f := range more {
			if known[f] { // a step passed the value on
				continue
			}
			known[f] = true
			f.Term = kit.Escape(e.Node) + "." + f.Term
			facts = append(facts, f)
		}
		whole = whole && all
	}
	if len(facts) > most {
		return facts[:most], false
	}
	return facts, whole
}

// Word returns the label of a request.
func (r Request) Word() string {
	if r.Role == "doubt" {
		return "In doubt"
	}
	return "Waiting for approval"
}
