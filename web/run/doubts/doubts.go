// Package doubts contains the page that resolves several calls in doubt of one step together.
package doubts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/approval"
	"github.com/kairosd/kairosd/web/part/form"
	"github.com/kairosd/kairosd/web/run/record"
)

const (
	// doubtsMost is the maximum number of calls that one form resolves. doubtRuns is the maximum
	// number of their runs.
	doubtsMost = 100
	doubtRuns  = 50
	// doubtFacts is the maximum number of facts of a call's input.
	doubtFacts = 6
)

// doubts handles the requests of the page.
type doubts struct{ *record.Request }

// digest returns a hash of what the page shows, so that it changes with the attempt, its input, or
// its calls.
func digest(d domain.Doubt) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%d\n%d\n%d\n%s\n%s\n", d.Run, d.Node, d.Visit, d.Item, d.Attempt, d.IdempotencyKey, d.Input)
	for _, c := range d.Calls {
		fmt.Fprintf(h, "%s\n%s\n%s\n", c.Tool, c.Arguments, c.IdempotencyKey)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// address returns the name of an attempt in a form.
func address(d domain.Doubt) string {
	return fmt.Sprintf("%s/%d/%d/%d/%s", d.Run, d.Visit, d.Item, d.Attempt, digest(d))
}

// Count returns the number of executions of a step that are in doubt in a run.
func Count(d domain.RunDetail, node string) int { return len(domain.DoubtsIn(d, node)) }

// alike returns the executions of a step that are in doubt, in one run or in all runs of a plan.
// more is set if there are further ones.
func (r doubts) alike() (list []domain.Doubt, more bool, err error) {
	f := domain.DoubtFilter{Plan: r.Field("plan"), Node: r.Field("node"), Run: r.Field("run"), Page: domain.Page{Limit: doubtRuns}}
	if f.Node == "" || f.Plan == "" {
		return nil, false, domain.Errorf(domain.CodeInvalid, "the plan and the step are required")
	}
	found, err := r.App.Runs.Doubts(r.Context, r.Principal.Actor(), f)
	if err != nil {
		return nil, false, err
	}
	if list, more = found.Items, found.Next != ""; len(list) > doubtsMost {
		list, more = list[:doubtsMost], true
	}
	return list, more, nil
}

// Page handles GET requests for the page, which change nothing.
func Page(r *record.Request) error { return doubts{r}.show(http.StatusOK, "", nil) }

// Resolve handles the form that resolves the selected calls.
func Resolve(r *record.Request) error { return doubts{r}.resolve() }

// show renders the calls in doubt, and the outcomes of those that were just resolved.
func (r doubts) show(code int, problem string, outcomes []approval.Decided) error {
	list, more, err := r.alike()
	if err != nil {
		return err
	}
	p := DoubtsPage{
		Plan: kit.Escape(r.Field("plan")), Node: kit.Escape(r.Field("node")), Run: r.Field("run"), Error: problem, Outcomes: outcomes,
		Idem: kit.NewID(), Output: cmp.Or(r.Field("output"), "null"), Reason: r.Field("reason"),
		Heading: r.N(len(list), "%s call in doubt", "%s calls in doubt"),
		Back:    kit.Link{Text: r.T("Back"), Href: "/approvals"},
	}
	p.Crumbs.Path = []kit.Link{{Text: r.T("Inbox"), Href: "/approvals"}}
	if p.Run != "" {
		p.Back = kit.Link{Text: r.T("Back to the run"), Href: "/runs/" + url.PathEscape(p.Run)}
		p.Crumbs.Path = []kit.Link{{Text: r.T("Runs"), Href: "/runs"}, {Text: domain.ShortID(p.Run), Href: p.Back.Href, Class: "m"}}
	}
	if n := len(outcomes); n > 0 && problem == "" {
		p.Heading = r.N(n, "%s call resolved", "%s calls resolved")
	} else if len(list) == 0 {
		p.Heading = r.T("No call of this step is in doubt.")
	}
	if more {
		p.More = r.T("There are more; only %s are shown.", r.Number(int64(len(list))))
	}
	for _, d := range list {
		p.Items = append(p.Items, r.item(d))
	}
	p.Shell = r.Shell("approvals", p.Heading)
	return r.Render(code, Doubts(p))
}

// item returns the row of a call in doubt.
func (r doubts) item(d domain.Doubt) DoubtItem {
	v := DoubtItem{
		Address: address(d), Step: stepIn(d), Run: kit.Link{Text: r.T("Run %s", domain.ShortID(d.Run)), Href: "/runs/" + d.Run},
		Key: d.IdempotencyKey, Sent: r.Time(d.StartedAt),
	}
	facts, whole := approval.Facts(d.Input, doubtFacts)
	if v.Facts = facts; !whole && len(facts) == 0 {
		v.Text = record.Brief(d.Input)
	}
	for _, c := range d.Calls {
		v.Calls = append(v.Calls, kit.Fact{Term: kit.Escape(c.Tool), Text: record.Brief(c.Arguments) + " · " + c.IdempotencyKey})
	}
	return v
}

// stepIn returns a link to the step on the page of its run.
func stepIn(d domain.Doubt) kit.Link {
	return kit.Link{Text: record.Label(d.Node, d.Visit, d.Item), Href: fmt.Sprintf("/runs/%s?step=%d#inspector", d.Run, d.Seq)}
}

// resolvedWords are the outcomes by action.
var resolvedWords = map[string]string{
	"happened": locale.Mark("it happened"), "retry": locale.Mark("run again"), "skip": locale.Mark("skipped"),
	"fail": locale.Mark("marked as failed by a user"),
}

// resolve resolves the selected calls one after the other. It reports, and does not resolve, a call
// that has changed since it was shown.
func (r doubts) resolve() error {
	if err := r.Echo.Request().ParseForm(); err != nil {
		return domain.Errorf(domain.CodeInvalid, "the form cannot be read: %w", err)
	}
	chosen, action := r.Echo.Request().PostForm["doubt"], r.Field("action")
	if resolvedWords[action] == "" || len(chosen) > doubtsMost {
		return domain.Errorf(domain.CodeInvalid, "choose at most %d calls, and an answer", doubtsMost)
	}
	if len(chosen) == 0 {
		return r.show(http.StatusUnprocessableEntity, r.T("Choose at least one call."), nil)
	}
	req := domain.ResolveRequest{Node: r.Field("node"), Action: action, Reason: r.Field("reason")}
	if action == "happened" {
		var err error
		if req.Output, err = form.JSON(r.Field("output")); err != nil {
			err = domain.Errorf(domain.CodeInvalid, "the output is not JSON: %w", err)
			return r.show(http.StatusUnprocessableEntity, r.Sentence(err), nil)
		}
	}
	known := map[string][]domain.Doubt{} // by run id, before any call is resolved
	var outcomes []approval.Decided
	refused := 0
	for _, address := range chosen {
		out, err := r.resolveOne(r.Context, known, address, req)
		if err != nil {
			return err
		}
		if out.Problem != "" {
			refused++
		}
		outcomes = append(outcomes, out)
	}
	if refused > 0 {
		err := domain.Errorf(domain.CodeConflict, "%d of %d calls were not resolved", refused, len(chosen))
		return r.show(http.StatusConflict, r.Sentence(err), outcomes)
	}
	return r.show(http.StatusOK, "", outcomes)
}

// resolveOne resolves one call, if it has not changed since it was shown.
func (r doubts) resolveOne(
	ctx context.Context, known map[string][]domain.Doubt, address string, req domain.ResolveRequest,
) (out approval.Decided, err error) {
	parts := strings.Split(address, "/")
	var numbers [3]int // visit, item, and attempt
	for i := range numbers {
		if len(parts) == 5 {
			numbers[i], err = strconv.Atoi(parts[1+i])
		}
		if len(parts) != 5 || err != nil {
			return out, domain.Errorf(domain.CodeInvalid, "%q names no call in doubt", kit.Truncate(address, 80))
		}
	}
	id := parts[0]
	req.Run, req.Visit, req.Item, req.Attempt = id, numbers[0], numbers[1], numbers[2]
	out = approval.Decided{
		Outcome: approval.NotDecided, Request: kit.Link{Text: req.Node},
		Run: kit.Link{Text: r.T("Run %s", domain.ShortID(id)), Href: "/runs/" + url.PathEscape(id)},
	}
	list, ok := known[id]
	if !ok {
		found, err := r.App.Runs.Doubts(ctx, r.Principal.Actor(), domain.DoubtFilter{Run: id, Node: req.Node})
		if err != nil {
			return out, err
		}
		list = found.Items
		known[id] = list
	}
	meta := r.Meta()
	if meta.Key != "" {
		meta.Key += ":" + address
	}
	at := slices.IndexFunc(list, func(d domain.Doubt) bool { return d.Visit == req.Visit && d.Item == req.Item })
	if at >= 0 {
		out.Request = stepIn(list[at])
		if digest(list[at]) != parts[4] {
			out.Problem = r.T("It has changed since it was shown.")
			return out, nil
		}
	}
	_, err = r.App.Runs.Resolve(ctx, app.ResolveRequest{Meta: meta, ResolveRequest: req})
	switch domain.CodeOf(err) {
	case "":
		out.Outcome = kit.Word("ok", "i-ok", resolvedWords[req.Action], true)
	case domain.CodeConflict, domain.CodeStale, domain.CodeNotFound, domain.CodeForbidden:
		out.Problem = r.Sentence(err)
	default:
		return out, err
	}
	return out, nil
}

// Together returns a link to the page for a step of the run, or an empty link if fewer than two of
// its calls are in doubt.
func Together(b *record.Record, node string) kit.Link {
	n := Count(b.Detail, node)
	if n < 2 {
		return kit.Link{}
	}
	return kit.Link{
		Text: b.N(n, "Decide %s together…", "Decide all %s together…"), Dialog: true,
		Href: link.With("/doubts", url.Values{"plan": {b.Detail.Run.PlanKey}, "node": {node}, "run": {b.Detail.Run.ID}}),
	}
}
