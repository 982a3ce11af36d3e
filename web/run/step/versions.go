package step

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/run/record"
)

// activeVersions are the versions that were active at a time: of kairosd itself, and of the agents'
// prompts.
type activeVersions struct {
	kairosd string
	agents  map[string]string
}

// activeAt reads the versions at a time from the last earlier start or configuration reload in the
// audit log. It logs errors, because the page is useful without the versions.
func (b inspectorPart) activeAt(at time.Time) (f activeVersions) {
	var since time.Time
	for _, action := range []string{"daemon.start", "config.reload"} {
		list, err := b.App.Audit.List(
			b.Context,
			b.Principal.Actor(),
			domain.AuditFilter{Action: action, Result: "ok", Since: since, Until: at, Page: domain.Page{Limit: 1}},
		)
		if err != nil {
			b.Site.Logger.Error("the active versions", "action", action, "err", err)
			return activeVersions{}
		}
		if len(list.Items) == 0 {
			continue
		}
		e := list.Items[0]
		if version, started := strings.CutPrefix(e.Object, "version:"); started {
			f.kairosd, since = version, e.At
		}
		var detail struct {
			Agents map[string]string `json:"agent"`
		}
		if json.Unmarshal(e.Detail, &detail) == nil && detail.Agents != nil {
			f.agents = detail.Agents
		}
	}
	return f
}

// participants adds the agent, the models, and the tool of a step, with the versions that were
// active when the step started, if known.
func (b inspectorPart) participants(st *record.Step, a *record.Attempt, agent string, add func(term, text string)) {
	tool := ""
	if i, ok := b.Program.Index[st.Node]; ok {
		tool = b.Program.Nodes[i].Tool
	}
	if agent == "" && tool == "" && !b.Conversations(st.Node) {
		return
	}
	began := st.Started
	if a != nil {
		began = a.Started
	}
	f := b.activeAt(began)
	if version := f.agents[agent]; version != "" {
		add(b.T("Agent"), b.T("%s, version %s", kit.Escape(agent), kit.Escape(version)))
	} else {
		add(b.T("Agent"), kit.Escape(agent))
	}
	if b.Conversations(st.Node) {
		var models []string
		for _, m := range promptOf(st, a).Messages {
			if m.Model != "" && !slices.Contains(models, kit.Escape(m.Model)) {
				models = append(models, kit.Escape(m.Model))
			}
		}
		add(b.T("Model"), strings.Join(models, ", "))
	}
	if tool != "" {
		add(b.T("Tool"), b.toolVersion(tool, f))
	}
}

// toolVersion returns the name of a tool with its MCP server, or with the version of kairosd if it
// is built in.
func (b inspectorPart) toolVersion(name string, f activeVersions) string {
	source := ""
	if tools, err := b.App.Tools.List(b.Context, b.Principal.Actor()); err == nil {
		if i := slices.IndexFunc(tools, func(t domain.ToolInfo) bool { return t.Name == name }); i >= 0 {
			source = tools[i].Source
		}
	}
	switch {
	case source == "built-in" && f.kairosd != "":
		return b.T("%s of kairosd %s", kit.Escape(name), kit.Escape(f.kairosd))
	case source != "" && source != "built-in":
		return b.T("%s of the MCP server %s", kit.Escape(name), kit.Escape(source))
	}
	return kit.Escape(name)
}
