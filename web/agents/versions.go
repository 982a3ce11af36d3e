package agents

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// spansRead is the number of starts and configuration reloads searched for versions of an
	// agent. spansShown is the number of versions on its page.
	spansRead, spansShown = 200, 8
	// promptRuns and promptRows limit the search for a prompt that is no longer active.
	promptRuns, promptRows = 3, 500
)

// agentSpan is a time range in which one version of an agent was active.
type agentSpan struct {
	version     string
	from, until time.Time // until is zero for the active version
}

// agentSpans returns the versions of an agent, newest first. The audit log records the version at
// every start and configuration reload.
func (s *section) agentSpans(c *ui.Context, id string) ([]agentSpan, error) {
	events, err := s.App.Audit.List(
		c,
		c.Principal.Actor(),
		domain.AuditFilter{Actions: []string{"daemon.start", "config.reload"}, Page: domain.Page{Limit: spansRead}},
	)
	if err != nil {
		return nil, err
	}
	var spans []agentSpan
	var until time.Time
	for _, e := range events.Items {
		var with struct{ Agent map[string]string }
		if len(e.Detail) == 0 || json.Unmarshal(e.Detail, &with) != nil || with.Agent == nil {
			continue // a rejected configuration has no versions
		}
		version := with.Agent[id]
		if n := len(spans) - 1; n >= 0 && spans[n].version == version {
			spans[n].from = e.At
		} else {
			spans = append(spans, agentSpan{version: version, from: e.At, until: until})
		}
		until = e.At
	}
	return slices.DeleteFunc(spans, func(s agentSpan) bool { return s.version == "" }), nil // the agent did not exist
}

// promptSent returns the prompt of a version of an agent, from the journal of a run of that time.
// Earlier prompts are stored nowhere else. The run has no ID if none is stored.
func (s *section) promptSent(c *ui.Context, id string, in agentSpan) (run domain.Run, text string, err error) {
	runs, err := s.Reader.Runs(
		c,
		domain.RunFilter{Agents: []string{id}, Since: in.from, Until: in.until, Page: domain.Page{Limit: promptRuns}},
	)
	if err != nil {
		return run, "", err
	}
	for _, run := range runs.Items {
		rows, err := s.Reader.JournalPage(c, run.ID, 0, promptRows)
		if err != nil {
			return run, "", err
		}
		for i := range rows {
			var q struct {
				Agent    string
				Messages []struct{ Role, Text string }
			}
			if what, _ := part.Call(&rows[i]); what != "model" || len(rows[i].Input) == 0 || json.Unmarshal(rows[i].Input, &q) != nil ||
				q.Agent != id {
				continue
			}
			for _, m := range q.Messages {
				if m.Role == "system" {
					return run, m.Text, nil
				}
			}
		}
	}
	return domain.Run{}, "", nil
}

// agentVersions returns the versions of an agent for its page.
func (s *section) agentVersions(c *ui.Context, a domain.AgentInfo) ([]AgentVersion, error) {
	spans, err := s.agentSpans(c, a.ID)
	if err != nil {
		return nil, err
	}
	var out []AgentVersion
	for _, in := range spans[:min(len(spans), spansShown)] {
		v := AgentVersion{Version: in.version, From: c.Time(in.from), Until: c.Time(in.until)}
		run, text, err := s.promptSent(c, a.ID, in)
		if err != nil {
			return nil, err
		}
		if run.ID != "" {
			v.Run = kit.Link{Text: domain.ShortID(run.ID), Href: "/runs/" + run.ID}
			v.Prompt = kit.Block{
				ID:     "prompt-" + in.version + "-" + run.ID,
				Title:  c.T("Prompt of the models, %s", promptVersion(text)),
				Text:   kit.Escape(text),
				Folded: true,
			}
			v.Same = text == a.SystemPrompt || in.version == a.Version()
		}
		out = append(out, v)
	}
	return out, nil
}
