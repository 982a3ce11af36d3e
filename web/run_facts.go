package web

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// triggerWords say through what a run was started.
var triggerWords = map[string]string{
	"ui": locale.Mark("this dashboard"), "api": locale.Mark("the API"), "cli": locale.Mark("the command line"), "ask": locale.Mark("an intent"),
	"child": locale.Mark("a run above it"), "rerun": locale.Mark("a rerun"), "fork": locale.Mark("a fork"), domain.OriginDry: locale.Mark("a dry run"),
}

func (b *runPage) facts(p *view.RunPage) {
	run := b.d.Run
	add := func(term, text, href string) {
		if text != "" {
			p.Facts = append(p.Facts, view.Fact{Term: term, Text: text, Href: href})
		}
	}
	if word, ok := triggerWords[run.Origin]; ok {
		add(b.t("Trigger"), b.t(word), listAt("/runs", "trigger:"+run.Origin))
	} else {
		add(b.t("Trigger"), visible(run.Origin), "")
	}
	add(b.t("Started by"), visible(run.Actor), "")
	if plan, err := b.s.Reader.Plan(b.ctx, run.PlanID); err == nil && plan.Latest > run.Version { // a hint: the page does not fail for it
		add(b.t("Version"), b.t("v%d is newer", plan.Latest), fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(run.PlanKey), run.Version, plan.Latest))
	}
	if n, of := b.progress(); of > 0 {
		add(b.t("Checkpoint"), b.t("%s of %s", b.number(int64(n)), b.number(int64(of))), b.href(url.Values{"view": {"state"}}))
	}
	add(b.t("Steps"), strconv.FormatInt(run.Steps, 10), "")
	if !run.Usage.Zero() {
		add(b.t("Tokens"), b.number(run.Usage.InputTokens+run.Usage.OutputTokens), "")
		add(b.t("Cost"), b.cost(run.Usage.Cost), "")
	}
	if run.Session != "" && run.Session != run.ID {
		href := ""
		if domain.CheckMemoryOwner(b.who.actor(), run.Actor) == nil {
			href = link.Memory(b.who.Name, "/memory", run.Actor, run.Session, "")
		}
		add(b.t("Session"), visible(run.Session), href)
	}
	if run.Dry() {
		add(b.t("Dry run"), b.t("what might change something, or asks a model, was left undone; such outputs are made up"), "")
	}
	if run.ForkedFrom != "" {
		add(b.t("Forked from"), domain.ShortID(run.ForkedFrom), "/runs/"+run.ForkedFrom)
	}
	if run.RerunOf != "" {
		add(b.t("Rerun of"), domain.ShortID(run.RerunOf), "/runs/"+run.RerunOf)
	}
	for _, re := range domain.ReplansOf(b.d) {
		text := b.t("v%d → v%d, after %s failed", re.From, re.To, visible(re.Node))
		if re.Proposed {
			text = b.t("v%d → v%d, after %s failed, if it is accepted", re.From, re.To, visible(re.Node))
		}
		add(b.t("Planned anew"), text, fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(run.PlanKey), re.From, re.To))
	}
	if run.Parent != nil {
		add(b.t("Child of"), b.t("%s at %s", domain.ShortID(run.Parent.Run), run.Parent.Node), "/runs/"+run.Parent.Run)
	}
	if len(p.Related) > 0 {
		add(b.t("Lineage"), b.n(len(p.Related), "%s related run", "%s related runs"), "/runs/"+run.ID+"/lineage")
	}
	for _, k := range sortedLabels(run.Labels) {
		add(k, visible(run.Labels[k]), "")
	}
	if run.Crashes > 0 {
		add(b.t("Interrupted"), b.n(run.Crashes, "%s time", "%s times"), "")
	}
	if b.s.System != nil {
		if until := b.s.System.Retention().Until(run); !until.IsZero() {
			add(b.t("Kept until"), b.time(until).Text, "")
		}
	}
}

// progress is how many checkpoints the run has made, and how many it has when all
// that it may still come to has completed.
func (b *runPage) progress() (made, of int) {
	made = b.checkpoints()
	of = made
	for _, st := range b.steps {
		switch st.status {
		case domain.NodeCompleted, domain.NodeSkipped:
		default:
			of++
		}
	}
	for _, id := range b.missing() {
		if _, passed := b.notTaken(id); !passed {
			of++
		}
	}
	return made, of
}

func sortedLabels(m map[string]string) []string {
	return slices.Sorted(maps.Keys(m))
}
