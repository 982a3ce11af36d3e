package run

import (
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/incoming"
	"github.com/kairosd/kairosd/web/part/schedule"
	"github.com/kairosd/kairosd/web/part/value"
)

// triggerWords are the interfaces through which a run can be started.
var triggerWords = map[string]string{
	"ui": locale.Mark(
		"this dashboard",
	), "api": locale.Mark("the API"), "cli": locale.Mark("the command line"),
	domain.SourceMCP: locale.Mark("an MCP client"), domain.SourceA2A: locale.Mark("an A2A client"), "ask": locale.Mark("a request"),
	"child": locale.Mark(
		"a run above it",
	), "rerun": locale.Mark("a rerun"), "fork": locale.Mark("a fork"), domain.OriginDry: locale.Mark("a dry run"),
	domain.OriginBlock:    locale.Mark("the block of a step"),
	domain.OriginUndo:     locale.Mark("an undo"),
	domain.OriginSchedule: locale.Mark("a schedule"), domain.OriginHook: locale.Mark("a hook"),
}

// facts returns further properties of the run, each in a few words.
func (b *headPart) facts() (out []kit.Fact) {
	run := b.Detail.Run
	add := func(term, text, href string) {
		if text != "" {
			out = append(out, kit.Fact{Term: term, Text: text, Href: href})
		}
	}
	mark := func(icon, term, text, href string) {
		if text != "" {
			out = append(out, kit.Fact{Icon: icon, Term: term, Text: text, Href: href})
		}
	}
	if word, ok := triggerWords[run.Origin]; ok {
		mark("i-bolt", b.T("Trigger"), b.T(word), link.List("/runs", "trigger:"+run.Origin))
	} else {
		mark("i-bolt", b.T("Trigger"), kit.Escape(run.Origin), "")
	}
	mark("i-user", b.T("Started by"), kit.Escape(run.Actor), "")
	mark("i-plan", b.T("Version"), fmt.Sprintf("v%d", run.Version), fmt.Sprintf("/plans/%s/v/%d", url.PathEscape(run.PlanKey), run.Version))
	if run.Profile != "" {
		mark("i-plan", b.T("Profile"), kit.Escape(run.Profile), link.List("/runs", "profile:"+run.Profile))
	}
	if plan, err := b.Reader.Plan(b.Context, run.PlanID); err == nil && plan.Latest > run.Version { // omit the hint on an error
		mark(
			"i-diff",
			b.T("Newest version"),
			b.T("v%d is newer", plan.Latest),
			fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(run.PlanKey), run.Version, plan.Latest),
		)
	}
	for _, k := range sortedLabels(run.Labels) {
		mark("i-tag", b.T("Label"), kit.Escape(k+"="+run.Labels[k]), link.List("/runs", "label."+k+"="+run.Labels[k]))
	}
	if !run.Usage.Zero() {
		add(b.T("Tokens"), b.Number(run.Usage.InputTokens+run.Usage.OutputTokens), "")
		add(b.T("Cost"), value.Cost(b.Context, run.Usage.Cost), "")
	}
	if run.Session != "" && run.Session != run.ID {
		href := ""
		if domain.CheckMemoryOwner(b.Principal.Actor(), run.Actor) == nil {
			href = link.Memory(b.Principal.Name, "/memory", run.Actor, run.Session, "")
		}
		add(b.T("Session"), kit.Escape(run.Session), href)
	}
	if run.Dry() {
		add(b.T("Dry run"), b.T("steps with side effects and model calls did not run; their outputs are samples"), "")
	}
	if run.ForkedFrom != "" {
		add(b.T("Forked from"), domain.ShortID(run.ForkedFrom), "/runs/"+run.ForkedFrom)
	}
	if slot := run.Slot; !slot.IsZero() {
		mark("i-clock", b.T("Slot"), kit.Escape(slot.Schedule)+" · "+b.Time(slot.At).Text, schedule.Address(slot.Schedule))
	}
	if run.Origin == domain.OriginHook {
		if id, err := b.App.Hooks.DeliveryOf(b.Context, b.Principal.Actor(), run.ID); err == nil && id != "" {
			mark("i-bolt", b.T("Delivery"), domain.ShortID(id), incoming.Delivery(id))
		}
	}
	if run.RerunOf != "" {
		add(b.T("Rerun of"), domain.ShortID(run.RerunOf), "/runs/"+run.RerunOf)
	}
	if run.Undoes != "" {
		add(b.T("Undo of"), domain.ShortID(run.Undoes), "/runs/"+run.Undoes)
	}
	for _, re := range domain.ReplansOf(b.Detail) {
		text := b.T("v%d → v%d, after %s failed", re.From, re.To, kit.Escape(re.Node))
		if re.Proposed {
			text = b.T("v%d → v%d, after %s failed, if it is accepted", re.From, re.To, kit.Escape(re.Node))
		}
		add(b.T("Replanned"), text, fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(run.PlanKey), re.From, re.To))
	}
	if run.Parent != nil {
		add(b.T("Child of"), b.T("%s at %s", domain.ShortID(run.Parent.Run), run.Parent.Node), "/runs/"+run.Parent.Run)
	}
	if b.related > 0 {
		add(b.T("Lineage"), b.N(b.related, "%s related run", "%s related runs"), "/runs/"+run.ID+"?view=lineage")
	}
	if run.Crashes > 0 {
		add(b.T("Interrupted"), b.N(run.Crashes, "%s time", "%s times"), "")
	}
	if b.Workflow != nil {
		if address := b.Workflow(run.ID); address != "" {
			add(b.T("Workflow"), "Temporal", address)
		}
	}
	if b.System != nil {
		if until := b.System.Retention().Until(run); !until.IsZero() {
			add(b.T("Kept until"), b.Time(until).Text, "")
		}
	}
	return out
}

func sortedLabels(m map[string]string) []string {
	return slices.Sorted(maps.Keys(m))
}
