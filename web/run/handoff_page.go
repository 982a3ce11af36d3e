package run

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	words "github.com/kairosd/kairosd/web/part/handoff"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/handoff"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/value"
)

// handoffPage is one handoff as a page of its own.
func (r *request) handoffPage() error {
	id, err := url.PathUnescape(r.Param("handoff"))
	if err != nil {
		id = r.Param("handoff")
	}
	h, err := r.Reader.Handoff(r.Context, id)
	if err != nil {
		return r.noHandoff(id, err)
	}
	b, err := r.open(h.Run)
	if err != nil {
		return err
	}
	said, err := r.Reader.Conversation(r.Context, h.Run)
	if err != nil {
		return err
	}
	run := b.d.Run
	p := HandoffPage{Shell: r.Shell("handoffs", kit.Visible(handoff.Short(h.Handoff))+" · "+run.PlanKey+" · "+domain.ShortID(run.ID)), Inspector: handoffsPart{b}.handoffInspector(handoff.In(b.d, said.Messages).Of(h.Handoff, r.Site.Now())),
		Run: kit.Link{Text: domain.ShortID(run.ID), Href: "/runs/" + run.ID + "?view=handoffs"}, Plan: kit.Link{Text: run.PlanKey, Href: "/plans/" + url.PathEscape(run.PlanKey)}}
	p.Inspector.Page = ""
	return r.Render(http.StatusOK, Handoff(p))
}

// noHandoff says that a handoff is not there, and which have an id like it.
func (r *request) noHandoff(id string, missing error) error {
	if domain.CodeOf(missing) != domain.CodeNotFound {
		return missing
	}
	p := kit.ErrorPage{Lists: r.Lists(), Shell: r.Shell("handoffs", "Not found"), Code: http.StatusNotFound, Headline: r.T("Not found"), Message: r.T("There is no handoff %s.", kit.Visible(kit.Cut(id, 200))),
		SimilarTitle: r.T("Handoffs with an id like it"), Links: []kit.Link{{Text: r.T("All handoffs"), Href: "/handoffs"}}}
	list, err := r.Reader.HandoffsLike(r.Context, id, similarRuns)
	if err != nil {
		return err
	}
	for _, h := range list {
		p.Similar = append(p.Similar, kit.Link{Text: fmt.Sprintf("%s · %s · %s · %s", kit.Visible(handoff.Short(h.Handoff)), h.Plan, domain.ShortID(h.Run), r.Time(h.At).Text), Href: "/handoffs/" + url.PathEscape(h.ID)})
	}
	return r.Render(p.Code, kit.Error(p))
}

// handoffInspector shows what was passed on and what came back.
func (b handoffsPart) handoffInspector(d domain.HandoffDetail) Inspector {
	st := words.Status(d.Status)
	i := Inspector{Key: "handoff-" + d.ID, Name: kit.Visible(handoff.Short(d.Handoff)), Sub: words.Reason(b.Context, d.Reason), Status: st, Page: "/handoffs/" + url.PathEscape(d.ID), Began: b.Time(d.At)}
	add := func(term, text, href string) {
		if text != "" {
			i.Facts = append(i.Facts, kit.Fact{Term: term, Text: text, Href: href})
		}
	}
	add(b.T("Result"), b.T(st.Word), "")
	add(b.T("Given by"), kit.Visible(d.From), b.agentThere(d.From))
	if d.Giver != nil {
		name, href := b.handoffStep(d.Giver)
		add(b.T("Given in"), name, href)
	}
	add(b.T("Taken by"), kit.Visible(d.To), b.agentThere(d.To))
	if d.Receiver != nil {
		name, href := b.handoffStep(d.Receiver)
		add(b.T("Taken in"), name, href)
	}
	add(b.T("Took"), kit.Took(time.Duration(d.TookMs)*time.Millisecond), "")
	if !d.Usage.Zero() {
		add(b.T("Tokens"), b.Number(d.Usage.InputTokens+d.Usage.OutputTokens), "")
		add(b.T("Cost"), value.Cost(b.Context, d.Usage.Cost), "")
	}
	add(b.T("Tools granted"), strings.Join(kit.VisibleAll(d.Tools), ", "), "")
	if d.Size > 0 {
		add(b.T("Passed on"), b.Size(d.Size), "")
		add(b.T("Keys"), strings.Join(keysOf(passedOn(d)), ", "), "")
		i.Facts = append(i.Facts, kit.Fact{Term: "SHA-256", Text: shortHash(d) + "…", Mono: true})
	}
	i.Blocks = b.handoffBlocks(d)
	return i
}

// handoffBlocks are the context that was given, the result that came back, and how
// the one became the other.
func (b handoffsPart) handoffBlocks(d domain.HandoffDetail) []kit.Block {
	var out []kit.Block
	if d.Context != "" {
		out = append(out, value.Text(kit.Block{ID: "task", Title: b.T("What it was asked to do")}, d.Context))
	}
	given := d.Given
	switch {
	case given != nil:
		out = append(out, value.Block(b.Display.Lang, "given", b.T("Context given"), given, ""))
	case d.Context == "":
		out = append(out, kit.Block{ID: "given", Title: b.T("Context given"), Text: b.T("nothing")})
	default:
		if words, err := jsonvalue.Encode(d.Context); err == nil {
			given = words
		}
	}
	result := value.Block(b.Display.Lang, "result", b.T("Result returned"), d.Result, "")
	switch {
	case d.Failure != nil:
		result = value.Text(kit.Block{ID: "result", Title: b.T("Failure") + " · " + d.Failure.Code}, d.Failure.Message)
	case d.Result == nil && d.Status == "open":
		result.Text = b.T("Nothing has come back yet.")
	case d.Result == nil:
		result.Text = b.T("Nothing came back.")
	}
	out = append(out, result)
	if given != nil && d.Result != nil {
		v := kit.Block{ID: "became", Title: b.T("From context to result")}
		v.Diff, v.Note = value.Diff(b.Display.Lang, given, d.Result)
		out = append(out, v)
	}
	return out
}

// handoffStep names the step in which an agent gave or took work, and leads to it.
func (b handoffsPart) handoffStep(s *domain.HandoffStep) (name, href string) {
	name = kit.StepName(s.Node, s.Visit)
	if s.Item >= 0 {
		name += fmt.Sprintf(" [%d]", s.Item)
	}
	return kit.Visible(name), fmt.Sprintf("/runs/%s?step=%d#inspector", b.d.Run.ID, s.Seq)
}

// agentThere is where an agent's page is; "": nowhere, it is not there any more.
func (r *request) agentThere(id string) string {
	if _, ok := r.Engine.Catalog().Agents[id]; !ok {
		return ""
	}
	return link.Agent(id)
}
