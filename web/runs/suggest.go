package runs

import (
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/query"
	"github.com/kairosd/kairosd/web/ui"
)

// keyWords describe the keys of the filter.
var keyWords = map[string]string{
	"status": locale.Mark(
		"status of the run",
	), "waiting": locale.Mark("what it waits for"), "plan": locale.Mark("its plan"), "v": locale.Mark("its plan's version"),
	"step": locale.Mark(
		"the step in the status message",
	), "error": locale.Mark("the code of its failure"), "agent": locale.Mark("an agent that took part"),
	"tool": locale.Mark(
		"a tool that was called",
	), "provider": locale.Mark("a provider that was called"), "by": locale.Mark("who started it"),
	"trigger": locale.Mark(
		"interface that started it",
	), "parent": locale.Mark("the run that it is a child of"), "id": locale.Mark("end or beginning of its id"),
	"since": locale.Mark(
		"ended or started after",
	), "until": locale.Mark("ended or started before"), "took": locale.Mark("longer or shorter than"),
	"cost": locale.Mark(
		"more or less expensive than",
	), "steps": locale.Mark("more or fewer steps than"), "attempt": locale.Mark("a step took more attempts than"),
	"has": locale.Mark(
		"fork, note, approval, parent or crash",
	), "is": locale.Mark("attention, acknowledged or deleted"), "bulk": locale.Mark("part of a bulk operation"),
	"text": locale.Mark("words in the status message or the labels"), "fingerprint": locale.Mark("a failure group"),
	"schedule": locale.Mark("the schedule that started it"), "profile": locale.Mark("the profile of its plan"),
}

// examples are example terms by key. Keys without one use a value that exists.
var examples = map[string]string{
	"status": "status:failed,interrupted", "waiting": "waiting:approval", "plan": "plan:invoice,refund",
	"v": "plan:invoice v:14", "step": "step:extract", "error": "error:timeout",
	"agent": "agent:triage", "tool": "tool:http status:failed", "provider": "provider:openai", "by": "-by:ci",
	"trigger": "trigger:api", "schedule": "schedule:nightly", "profile": "profile:prod", "parent": "has:parent", "id": "id:7qx2",
	"since": "since:24h", "until": "until:2030-01-31T08:00", "took": "took:>5m", "cost": "cost:>1", "steps": "steps:>20",
	"attempt": "attempt:>2", "has": "has:note",
	"is": "is:acknowledged", "bulk": "bulk:06gztmgk", "fingerprint": "fingerprint:0a1b2c3d4e5f", "text": `text:"rate limit"`,
}

// Help returns the keys of the filter, each with a description and an example, for the help page.
func Help() []kit.FilterTerm {
	var out []kit.FilterTerm
	for _, k := range filter.Keys {
		out = append(out, kit.FilterTerm{At: "/runs", Key: k, Meaning: keyWords[k], Example: examples[k]})
	}
	return out
}

// suggest serves suggestions for the filter: keys, or values of the key being typed.
func (s *section) suggest(c *ui.Context) error {
	return query.Suggest(c, filter.Keys, keyWords, func(key, typed string) ([]kit.Link, error) { return s.valuesOf(c, key, typed) })
}

// valuesOf returns the values of a key that contain the typed text.
func (s *section) valuesOf(c *ui.Context, key, typed string) ([]kit.Link, error) {
	var all []kit.Link
	add := func(values ...string) {
		for _, v := range values {
			all = append(all, kit.Link{Text: v})
		}
	}
	switch key {
	case "status":
		counts, err := s.Reader.RunCounts(c)
		if err != nil {
			return nil, err
		}
		for _, status := range domain.RunStatuses {
			all = append(all, kit.Link{Text: string(status), Count: c.Number(counts.ByStatus[status])})
		}
		for _, s := range []struct {
			word string
			n    int64
		}{{"needs_you", needsYou(counts)}, {"retrying", counts.Waiting[domain.WaitRetry]},
			{"paused", counts.Waiting[domain.WaitPaused]}, {"interrupted", counts.Waiting[domain.WaitInDoubt]}} {
			all = append(all, kit.Link{Text: s.word, Count: c.Number(s.n)})
		}
	case "waiting":
		counts, err := s.Reader.RunCounts(c)
		if err != nil {
			return nil, err
		}
		for _, w := range domain.WaitReasons {
			all = append(all, kit.Link{Text: string(w), Count: c.Number(counts.Waiting[w])})
		}
	case "plan":
		list, err := s.Reader.Plans(c, domain.PlanFilter{Text: typed, Page: domain.Page{Limit: query.MaxSuggestions}})
		if err != nil {
			return nil, err
		}
		for _, p := range list.Items {
			all = append(all, kit.Link{Text: p.Key, Count: kit.Escape(p.Name)})
		}
		return all, nil
	case "error", "step", "node":
		if key == "error" {
			codes, err := s.known(c, "error")
			if err != nil {
				return nil, err
			}
			add(codes...)
		}
		groups, err := s.App.Failures.List(c, c.Principal.Actor(), 200)
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			v := g.Code
			if key != "error" {
				v = g.Node
			}
			n := c.N(int(g.Runs), "%s run needs attention", "%s runs need attention")
			if i := slices.IndexFunc(all, func(l kit.Link) bool { return l.Text == v }); i < 0 {
				all = append(all, kit.Link{Text: v, Count: n})
			} else if all[i].Count == "" {
				all[i].Count = n
			}
		}
	case "agent", "tool", "provider":
		names, err := s.known(c, key)
		if err != nil {
			return nil, err
		}
		add(names...)
	case "by":
		names, err := s.known(c, "by")
		if err != nil {
			return nil, err
		}
		add(names...)
	case "trigger", "origin":
		add("ui", "api", "cli", domain.SourceMCP, domain.SourceA2A, "ask", "child", domain.OriginBlock, domain.OriginDry,
			"rerun", "fork", domain.OriginUndo, domain.OriginSchedule, domain.OriginHook)
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
	return s.counted(c, key, query.Matching(all, typed)), nil
}

// counted adds the number of matching runs to the first values, if the key has an index.
func (s *section) counted(c *ui.Context, key string, values []kit.Link) []kit.Link {
	if !slices.Contains([]string{"agent", "tool", "provider", "by", "error"}, key) {
		return values
	}
	for i := range values[:min(len(values), narrowerCounts)] {
		v := &values[i]
		if v.Count != "" {
			continue
		}
		if f, problem := filter.Parse(key+":"+filter.Quote(v.Text), c.Site.Now()); problem == nil {
			v.Count, _ = s.matchText(c, f) // the count is optional
		}
	}
	return values
}
