package web

import (
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/query"
	"github.com/kairosd/kairosd/web/view"
)

// keyWords say what each key of the filter selects.
var keyWords = map[string]string{
	"status": locale.Mark("where the run stands"), "waiting": locale.Mark("for what it waits"), "plan": locale.Mark("its plan"), "v": locale.Mark("its plan's version"),
	"step": locale.Mark("the step that the headline speaks of"), "error": locale.Mark("the code of its failure"), "agent": locale.Mark("an agent that took part"),
	"tool": locale.Mark("a tool that was called"), "provider": locale.Mark("a provider that was asked"), "by": locale.Mark("who started it"),
	"trigger": locale.Mark("through what it was started"), "parent": locale.Mark("the run that it is a child of"), "id": locale.Mark("end or beginning of its id"),
	"since": locale.Mark("ended, or begun, after"), "until": locale.Mark("ended, or begun, before"), "took": locale.Mark("longer or shorter than"),
	"cost": locale.Mark("dearer or cheaper than"), "steps": locale.Mark("more or fewer steps than"), "attempt": locale.Mark("a step took more attempts than"),
	"has": locale.Mark("fork, note, approval, parent or crash"), "is": locale.Mark("attention, acknowledged or deleted"), "bulk": locale.Mark("part of an act on many runs"),
	"text": locale.Mark("words in the headline or the labels"), "alike": locale.Mark("failures whose messages are alike"),
}

// examples are queries to try, by key; where there is none, the first of some
// other values will do.
var examples = map[string]string{
	"status": "status:failed,interrupted", "waiting": "waiting:approval", "plan": "plan:invoice,refund", "v": "plan:invoice v:14", "step": "step:extract", "error": "error:timeout",
	"agent": "agent:triage", "tool": "tool:http status:failed", "provider": "provider:openai", "by": "-by:ci", "trigger": "trigger:api", "parent": "has:parent", "id": "id:7qx2",
	"since": "since:24h", "until": "until:2030-01-31T08:00", "took": "took:>5m", "cost": "cost:>1", "steps": "steps:>20", "attempt": "attempt:>2", "has": "has:note",
	"is": "is:acknowledged", "bulk": "bulk:06gztmgk", "alike": "alike:0a1b2c3d4e5f", "text": `text:"rate limit"`,
}

// filterHelp is the grammar of the filter of runs, key by key.
var filterHelp []kit.FilterTerm

func init() {
	for _, k := range filter.Keys {
		filterHelp = append(filterHelp, kit.FilterTerm{At: "/runs", Key: k, Does: keyWords[k], Example: examples[k]})
	}
}

// suggest offers what may follow in the filter: keys, or values of the key that
// is being written.
func (r *request) suggest() error { return query.Suggest(r.Context, filter.Keys, keyWords, r.valuesOf) }

// valuesOf are the values that a key may have and that contain what was typed.
func (r *request) valuesOf(key, typed string) ([]view.Link, error) {
	var all []view.Link
	add := func(values ...string) {
		for _, v := range values {
			all = append(all, view.Link{Text: v})
		}
	}
	switch key {
	case "status":
		counts, err := r.s.Reader.RunCounts(r.ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range domain.RunStatuses {
			all = append(all, view.Link{Text: string(s), Count: r.number(counts.ByStatus[s])})
		}
		for _, s := range []struct {
			word string
			n    int64
		}{{"needs_you", needsYou(counts)}, {"retrying", counts.Waiting[domain.WaitRetry]}, {"paused", counts.Waiting[domain.WaitPaused]}, {"interrupted", counts.Waiting[domain.WaitInDoubt]}} {
			all = append(all, view.Link{Text: s.word, Count: r.number(s.n)})
		}
	case "waiting":
		counts, err := r.s.Reader.RunCounts(r.ctx)
		if err != nil {
			return nil, err
		}
		for _, w := range domain.WaitReasons {
			all = append(all, view.Link{Text: string(w), Count: r.number(counts.Waiting[w])})
		}
	case "plan":
		list, err := r.s.Reader.Plans(r.ctx, domain.PlanFilter{Text: typed, Page: domain.Page{Limit: query.Most}})
		if err != nil {
			return nil, err
		}
		for _, p := range list.Items {
			all = append(all, view.Link{Text: p.Key, Count: visible(p.Name)})
		}
		return all, nil
	case "error", "step", "node":
		if key == "error" {
			codes, err := r.known("error")
			if err != nil {
				return nil, err
			}
			add(codes...)
		}
		groups, err := r.s.App.Failures.List(r.ctx, r.who.actor(), 200)
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			v := g.Code
			if key != "error" {
				v = g.Node
			}
			n := r.n(int(g.Runs), "%s run needs attention", "%s runs need attention")
			if i := slices.IndexFunc(all, func(l view.Link) bool { return l.Text == v }); i < 0 {
				all = append(all, view.Link{Text: v, Count: n})
			} else if all[i].Count == "" {
				all[i].Count = n
			}
		}
	case "agent", "tool", "provider":
		names, err := r.known(key)
		if err != nil {
			return nil, err
		}
		add(names...)
	case "by":
		names, err := r.known("by")
		if err != nil {
			return nil, err
		}
		add(names...)
	case "trigger", "origin":
		add("ui", "api", "cli", "ask", "child", "rerun", "fork")
	case "since", "until":
		add("15m", "1h", "6h", "24h", "7d", "30d")
	case "took":
		add(">1m", ">5m", ">1h", "<10s")
	case "attempt":
		add(">1", ">2", ">5")
	case "has":
		add("fork", "note", "approval", "parent", "crash")
	case "is":
		add("attention", "acknowledged", "deleted")
	}
	return r.counted(key, query.Matching(all, typed)), nil
}

// counted adds to the first values how many runs have them, where an index gives it.
func (r *request) counted(key string, values []view.Link) []view.Link {
	if !slices.Contains([]string{"agent", "tool", "provider", "by", "error"}, key) {
		return values
	}
	for i := range values[:min(len(values), narrowerCounts)] {
		v := &values[i]
		if v.Count != "" {
			continue
		}
		if f, problem := filter.Parse(key+":"+filter.Quote(v.Text), r.s.now()); problem == nil {
			v.Count, _ = r.matchText(f) // the value is as good without
		}
	}
	return values
}

func (r *request) crewNames(kind string, add func(...string)) error {
	switch kind {
	case "agent":
		list, err := r.s.App.Agents.List(r.ctx, r.who.actor())
		for _, a := range list {
			add(a.ID)
		}
		return err
	case "provider":
		list, err := r.s.App.Providers.List(r.ctx, r.who.actor())
		for _, p := range list {
			add(p.Name)
		}
		return err
	}
	list, err := r.s.App.Tools.List(r.ctx, r.who.actor())
	for _, t := range list {
		add(t.Name)
	}
	return err
}
