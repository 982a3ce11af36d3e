package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/handoff"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/view"
)

// handoffPage is one handoff as a page of its own.
func (r *request) handoffPage() error {
	id, err := url.PathUnescape(r.c.Param("handoff"))
	if err != nil {
		id = r.c.Param("handoff")
	}
	h, err := r.s.Reader.Handoff(r.ctx, id)
	if err != nil {
		return r.noHandoff(id, err)
	}
	b, err := r.openRun(h.Run)
	if err != nil {
		return err
	}
	said, err := r.s.Reader.Conversation(r.ctx, h.Run)
	if err != nil {
		return err
	}
	run := b.d.Run
	p := view.HandoffPage{Shell: r.shell("handoffs", visible(handoff.Short(h.Handoff))+" · "+run.PlanKey+" · "+domain.ShortID(run.ID)), Inspector: b.handoffInspector(handoff.In(b.d, said.Messages).Of(h.Handoff, r.s.now())),
		Run: view.Link{Text: domain.ShortID(run.ID), Href: "/runs/" + run.ID + "?view=handoffs"}, Plan: view.Link{Text: run.PlanKey, Href: "/plans/" + url.PathEscape(run.PlanKey)}}
	p.Inspector.Page = ""
	return r.render(http.StatusOK, view.Handoff(p))
}

// noHandoff says that a handoff is not there, and which have an id like it.
func (r *request) noHandoff(id string, missing error) error {
	if domain.CodeOf(missing) != domain.CodeNotFound {
		return missing
	}
	p := view.ErrorPage{Lists: r.lists(), Shell: r.shell("handoffs", "Not found"), Code: http.StatusNotFound, Headline: r.t("Not found"), Message: r.t("There is no handoff %s.", visible(cut(id, 200))),
		SimilarTitle: r.t("Handoffs with an id like it"), Links: []view.Link{{Text: r.t("All handoffs"), Href: "/handoffs"}}}
	list, err := r.s.Reader.HandoffsLike(r.ctx, id, similarRuns)
	if err != nil {
		return err
	}
	for _, h := range list {
		p.Similar = append(p.Similar, view.Link{Text: fmt.Sprintf("%s · %s · %s · %s", visible(handoff.Short(h.Handoff)), h.Plan, domain.ShortID(h.Run), r.time(h.At).Text), Href: "/handoffs/" + url.PathEscape(h.ID)})
	}
	return r.render(p.Code, view.Error(p))
}

// handoffInspector shows what was passed on and what came back.
func (b *runPage) handoffInspector(d domain.HandoffDetail) view.Inspector {
	st := handoffStatus(d.Status)
	i := view.Inspector{Name: visible(handoff.Short(d.Handoff)), Sub: b.handoffReason(d.Reason), Status: st, Page: "/handoffs/" + url.PathEscape(d.ID), Began: b.time(d.At)}
	add := func(term, text, href string) {
		if text != "" {
			i.Facts = append(i.Facts, view.Fact{Term: term, Text: text, Href: href})
		}
	}
	add(b.t("Result"), b.t(st.Word), "")
	add(b.t("Given by"), visible(d.From), b.agentThere(d.From))
	if d.Giver != nil {
		name, href := b.handoffStep(d.Giver)
		add(b.t("Given in"), name, href)
	}
	add(b.t("Taken by"), visible(d.To), b.agentThere(d.To))
	if d.Receiver != nil {
		name, href := b.handoffStep(d.Receiver)
		add(b.t("Taken in"), name, href)
	}
	add(b.t("Took"), took(time.Duration(d.TookMs)*time.Millisecond), "")
	if !d.Usage.Zero() {
		add(b.t("Tokens"), b.number(d.Usage.InputTokens+d.Usage.OutputTokens), "")
		add(b.t("Cost"), b.cost(d.Usage.Cost), "")
	}
	add(b.t("Tools granted"), strings.Join(visibleAll(d.Tools), ", "), "")
	if d.Size > 0 {
		add(b.t("Passed on"), b.size(d.Size), "")
		add(b.t("Keys"), strings.Join(keysOf(passedOn(d)), ", "), "")
		i.Facts = append(i.Facts, view.Fact{Term: "SHA-256", Text: shortHash(d) + "…", Mono: true})
	}
	i.Blocks = b.handoffBlocks(d)
	return i
}

// handoffBlocks are the context that was given, the result that came back, and how
// the one became the other.
func (b *runPage) handoffBlocks(d domain.HandoffDetail) []view.Block {
	var out []view.Block
	if d.Context != "" {
		out = append(out, cutBlock(view.Block{ID: "task", Title: b.t("What it was asked to do")}, d.Context))
	}
	given := d.Given
	switch {
	case given != nil:
		out = append(out, b.block("given", b.t("Context given"), given, ""))
	case d.Context == "":
		out = append(out, view.Block{ID: "given", Title: b.t("Context given"), Text: b.t("nothing")})
	default:
		if words, err := jsonvalue.Encode(d.Context); err == nil {
			given = words
		}
	}
	result := b.block("result", b.t("Result returned"), d.Result, "")
	switch {
	case d.Failure != nil:
		result = cutBlock(view.Block{ID: "result", Title: b.t("Failure") + " · " + d.Failure.Code}, d.Failure.Message)
	case d.Result == nil && d.Status == "open":
		result.Text = b.t("Nothing has come back yet.")
	case d.Result == nil:
		result.Text = b.t("Nothing came back.")
	}
	out = append(out, result)
	if given != nil && d.Result != nil {
		v := view.Block{ID: "became", Title: b.t("From context to result")}
		v.Diff, v.Note = b.jsonDiff(given, d.Result)
		out = append(out, v)
	}
	return out
}

// handoffStep names the step in which an agent gave or took work, and leads to it.
func (b *runPage) handoffStep(s *domain.HandoffStep) (name, href string) {
	name = stepName(s.Node, s.Visit)
	if s.Item >= 0 {
		name += fmt.Sprintf(" [%d]", s.Item)
	}
	return visible(name), fmt.Sprintf("/runs/%s?step=%d#inspector", b.d.Run.ID, s.Seq)
}

// agentThere is where an agent's page is; "": nowhere, it is not there any more.
func (r *request) agentThere(id string) string {
	if _, ok := r.s.Engine.Catalog().Agents[id]; !ok {
		return ""
	}
	return agentHref(id)
}
