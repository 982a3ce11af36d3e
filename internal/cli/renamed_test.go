package cli_test

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// renamed maps each command of the first version to the command that replaces it.
var renamed = map[string]string{
	"run": "run FILE", "start": "run PLAN", "ask": "ask TEXT", "try": "run FILE --dry-run", "test": "run FILE --mock FILE",
	"validate": "validate FILE", "graph": "plans graph FILE",
	"plans": "plans", "plans add": "plans add FILE", "plans archive": "plans archive PLAN", "plans diff": "plans diff PLAN 1 2",
	"plans flow": "plans flow PLAN", "plans pause": "plans pause PLAN", "plans restore": "plans restore PLAN 1",
	"plans show":      "plans show PLAN",
	"plans unarchive": "plans unarchive PLAN", "plans unpause": "plans unpause PLAN", "plans versions": "plans versions PLAN",
	"drafts": "drafts", "drafts accept": "drafts accept DRAFT", "drafts discard": "drafts discard DRAFT",
	"drafts refine": "drafts refine DRAFT TEXT",
	"drafts show":   "drafts show DRAFT", "drafts start": "drafts run DRAFT", "drafts try": "drafts run DRAFT --dry-run",
	"runs": "runs", "show": "runs show RUN", "compare": "runs compare RUN RUN", "logs": "runs logs RUN", "steps": "runs steps FILTER",
	"handoffs": "runs handoffs FILTER", "handoffs show": "runs handoffs show RUN", "note": "runs note RUN TEXT",
	"export":   "runs export RUN",
	"failures": "failures", "failures ack": "failures ack --plan PLAN --step STEP --error CODE",
	"failures unack": "failures unack --plan PLAN --step STEP --error CODE", "ack": "failures ack RUN",
	"views": "views", "views save": "views save NAME FILTER", "views remove": "views delete NAME",
	"resume": "runs resume RUN", "rerun": "runs rerun RUN", "fork": "runs fork RUN --at 1", "cancel": "runs cancel RUN",
	"pause":    "runs pause RUN",
	"continue": "runs resume RUN", "retry-now": "runs resume RUN", "start-now": "runs resume RUN --now",
	"release":       "runs resume RUN --release",
	"release --all": "server release", "delete": "runs delete RUN", "limits": "runs limits RUN", "resolve": "runs resolve RUN STEP",
	"label": "runs label RUN", "bulk": "operations", "bulk show": "operations show OPERATION", "bulk stop": "operations stop OPERATION",
	"approvals": "approvals", "approvals show": "approvals show APPROVAL", "approvals assign": "approvals assign APPROVAL NAME",
	"approve": "approvals approve APPROVAL", "reject": "approvals reject APPROVAL",
	"agents": "agents", "agents show": "agents show AGENT", "tools": "tools", "tools accept": "tools accept TOOL",
	"tools disable": "tools disable TOOL",
	"tools enable":  "tools enable TOOL", "tools retry": "tools retry SERVER", "tools servers": "tools servers",
	"tools show": "tools show TOOL",
	"tools try":  "tools call TOOL", "providers": "providers", "providers disable": "providers disable PROVIDER",
	"providers enable": "providers enable PROVIDER", "providers show": "providers show PROVIDER",
	"memory": "sessions", "memory SESSION": "sessions show SESSION", "forget": "sessions clear SESSION",
	"audit": "audit", "audit show": "audit show 1", "system": "server", "system backup": "server backup", "system log": "server logs",
	"system maintenance": "server maintenance on", "version": "version",
	"plans convert": "plans convert steps.yaml", "completion": "completion bash",
}

// Each old command has a replacement, and each command is a replacement, a list, a short form, or
// in the list of new commands.
func TestEveryCommandHasItsPlace(t *testing.T) {
	t.Parallel()
	used := map[string]bool{"status": true, "server status": true, "schedules": true, "signals": true,
		"signals send": true, "signals show": true, "spend": true, "runs doubts": true, "runs doubts resolve": true, "hooks": true,
		"schema": true, "plans import": true, "mcp": true, "mcp confirm": true, "mcp refuse": true, "mcp requests": true,
		"runs undo": true} // new
	for _, verb := range strings.Fields("show create update pause resume delete deliveries delivery replay") {
		used["hooks "+verb] = true
	}
	used["budgets"] = true
	for _, verb := range strings.Fields("show create update raise delete") {
		used["budgets "+verb] = true
	}
	for _, verb := range strings.Fields("show create update delete pause resume next decide backfill") {
		used["schedules "+verb] = true
	}
	for _, before := range slices.Sorted(maps.Keys(renamed)) {
		root := rootOf("kairos", silent(io.Discard))
		words := strings.Fields(renamed[before])
		if err := taken(root, words); err != nil {
			t.Errorf("kairos %s is now kairos %s: %v", before, renamed[before], err)
			continue
		}
		cmd, _, _ := root.Find(words)
		used[strings.TrimPrefix(cmd.CommandPath(), "kairos ")] = true
	}
	short := map[string]bool{}
	for _, name := range strings.Fields("show logs resume rerun fork cancel approve reject") {
		short[name] = true
	}
	for _, cmd := range commandsOf("kairos") {
		path := strings.TrimPrefix(cmd.CommandPath(), "kairos ")
		if !used[path] && cmd.Name() != "list" && !short[path] {
			t.Errorf("kairos %s is in no row of the table", path)
		}
	}
}

// There are few verbs and groups, and the groups are nouns.
func TestTheTopLevel(t *testing.T) {
	t.Parallel()
	got := map[string][]string{}
	for _, cmd := range rootOf("kairos", silent(io.Discard)).Commands() {
		got[cmd.GroupID] = append(got[cmd.GroupID], cmd.Name())
	}
	for group, want := range map[string]string{
		"verbs": "ask mcp run schema spend status validate version",
		"groups": "agents approvals audit budgets drafts failures hooks operations plans providers runs schedules server sessions " +
			"signals tools views",
		"short": "approve cancel fork logs rerun resume reject show",
	} {
		list := strings.Fields(want)
		slices.Sort(list)
		slices.Sort(got[group])
		if !slices.Equal(got[group], list) {
			t.Errorf("%s: %v, want %v", group, got[group], list)
		}
	}
}

// summaryVerbs are the verbs that begin the summary of a command.
var summaryVerbs = strings.Fields(`Convert Decide Accept Acknowledge Add Apply Archive Assign Call Cancel Change Check Clear Compare Confirm Create Delete Disable
	Discard Draw Enable End Export Kill Link List Make Manage Pause Plan Print Raise Refuse Release Remove Replace Replay Reject Resolve Restart Restore Resume Revoke
	Run Save Search Send Serve Set Show Start Stop Store Track Approve
	Undo Unpause Withdraw`)

// A summary has at most 50 characters and begins with a known verb.
func TestSummariesAreShort(t *testing.T) {
	t.Parallel()
	for name := range programs {
		for _, cmd := range commandsOf(name) {
			if fault := summaryFault(cmd.Short); fault != "" {
				t.Errorf("%s: %q %s", cmd.CommandPath(), cmd.Short, fault)
			}
		}
	}
	for text, want := range map[string]string{
		"Pause a run":                     "",
		"Let no new step of a run start":  "does not begin with a verb of summaryVerbs",
		"Shows a run":                     "does not begin with a verb of summaryVerbs",
		"Show " + strings.Repeat("x", 50): "has more than 50 characters",
	} {
		if got := summaryFault(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func summaryFault(text string) string {
	if verb, _, _ := strings.Cut(text, " "); !slices.Contains(summaryVerbs, strings.TrimSuffix(verb, ",")) {
		return "does not begin with a verb of summaryVerbs"
	}
	if len([]rune(text)) > 50 {
		return "has more than 50 characters"
	}
	return ""
}

// A short form is the command of its group, with the same summary, flags, and examples.
func TestShortFormsAreTheirCommands(t *testing.T) {
	t.Parallel()
	root := rootOf("kairos", silent(io.Discard))
	for short, long := range map[string]string{"show": "runs", "logs": "runs", "resume": "runs", "rerun": "runs", "fork": "runs",
		"cancel":  "runs",
		"approve": "approvals", "reject": "approvals"} {
		a, _, _ := root.Find([]string{short})
		b, _, _ := root.Find([]string{long, short})
		if describe(a) != describe(b) {
			t.Errorf("kairos %s differs from kairos %s %s", short, long, short)
		}
	}
}

func describe(cmd *cobra.Command) string {
	return cmd.Short + cmd.Long + cmd.Example + flagsOf(cmd.Flags())
}

// Without arguments, kairos prints an overview that fits a screen.
func TestOverview(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	out, _ := s.expect(0)
	if lines := strings.Count(out, "\n"); lines > 24 || !strings.Contains(out, "kairos run ") || !strings.Contains(out, "Groups: ") ||
		!strings.Contains(out, "--help") {
		t.Errorf("%d lines:\n%s", lines, out)
	}
}
