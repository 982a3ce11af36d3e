package help

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
)

// page is the model of the help page. Runs and Audit describe the keys of the filters.
type page struct {
	kit.Shell
	Runs, Audit []kit.FilterTerm
}

// stateHelp explains the states of a run. States that are not final have a dashed shape.
var stateHelp = []struct {
	status kit.Status
	means  string
}{
	{
		kit.Status{Key: "idle", Icon: "i-queued", Word: locale.Mark("Queued"), Final: false},
		locale.Mark("stored; waits for a free slot, a start time, or its turn"),
	},
	{kit.Status{Key: "idle", Icon: "i-clock", Word: locale.Mark("Scheduled")}, locale.Mark("stored; starts at a time")},
	{kit.Status{Key: "now", Icon: "i-now", Word: locale.Mark("Running"), Final: false}, locale.Mark("a step of the run is active")},
	{
		kit.Status{Key: "idle", Icon: "i-wait", Word: locale.Mark("Waiting"), Final: false},
		locale.Mark("waits for a time, or for a run that it started"),
	},
	{
		kit.Status{Key: "need", Icon: "i-need", Word: locale.Mark("Action required"), Final: false},
		locale.Mark("continues after a person acts: an approval, a limit, or a release"),
	},
	{
		kit.Status{Key: "need", Icon: "i-retry", Word: locale.Mark("Retrying"), Final: false},
		locale.Mark("a step failed and is retried automatically"),
	},
	{
		kit.Status{Key: "doubt", Icon: "i-doubt", Word: locale.Mark("In doubt"), Final: false},
		locale.Mark("the outcome of a call is unknown; a person decides"),
	},
	{
		kit.Status{Key: "idle", Icon: "i-pause", Word: locale.Mark("Paused"), Final: false},
		locale.Mark("paused by a user; no new steps start"),
	},
	{kit.Status{Key: "ok", Icon: "i-ok", Word: locale.Mark("Completed"), Final: true},
		locale.Mark("all steps that had to run have completed")},
	{
		kit.Status{Key: "fail", Icon: "i-fail", Word: locale.Mark("Failed"), Final: true},
		locale.Mark("a step failed after its last attempt; the run can be resumed or forked"),
	},
	{
		kit.Status{Key: "idle", Icon: "i-cancel", Word: locale.Mark("Cancelled"), Final: true},
		locale.Mark("cancelled by a user; the run can be resumed"),
	},
}

// stepHelp explains the states that only steps have.
var stepHelp = []struct {
	status kit.Status
	means  string
}{
	{
		kit.Status{Key: "idle", Icon: "i-queued", Word: locale.Mark("not started")},
		locale.Mark("the run has not reached this step, or ended before it"),
	},
	{kit.Status{Key: "idle", Icon: "i-skip", Word: locale.Mark("not taken"), Final: true}, locale.Mark("a decision chose another path")},
	{
		kit.Status{Key: "idle", Icon: "i-skip", Word: locale.Mark("skipped"), Final: true},
		locale.Mark("a step before it did not complete, or the plan allows it to be skipped"),
	},
	{
		kit.Status{Key: "ok", Icon: "i-reuse", Word: locale.Mark("reused"), Final: true},
		locale.Mark("its result comes from the run that this run was forked from"),
	},
}

// shortcut is a key or a sequence of keys, with its description.
type shortcut struct {
	keys []string
	does string
}

// shortcuts navigate or open something. None of them changes data.
var shortcuts = []shortcut{
	{[]string{"/"}, locale.Mark("jump to a run, plan or step")},
	{[]string{"?"}, locale.Mark("this page")},
	{[]string{"g", "h"}, locale.Mark("home")},
	{[]string{"g", "r"}, locale.Mark("runs")},
	{[]string{"g", "p"}, locale.Mark("plans")},
	{[]string{"g", "a"}, locale.Mark("approvals")},
	{[]string{"g", "d"}, locale.Mark("handoffs")},
	{[]string{"g", "g"}, locale.Mark("agents")},
	{[]string{"g", "u"}, locale.Mark("audit")},
	{[]string{"g", "s"}, locale.Mark("system")},
	{[]string{"j", "k"}, locale.Mark("next and previous row")},
	{[]string{"o"}, locale.Mark("open the row")},
	{[]string{"x"}, locale.Mark("select the row")},
	{[]string{"X"}, locale.Mark("select up to the row")},
	{[]string{"*"}, locale.Mark("select the page")},
	{[]string{"a", "r", "s"}, locale.Mark("to the buttons of a decision: approve, reject, request changes, or reassign")},
	{[]string{"v"}, locale.Mark("peek at the run of the row")},
	{[]string{"."}, locale.Mark("actions of the row")},
	{[]string{"e"}, locale.Mark("edit the filter")},
	{[]string{"n", "b"}, locale.Mark("older and newer page")},
	{[]string{"t"}, locale.Mark("how times are written")},
	{[]string{"p"}, locale.Mark("pause live updates")},
	{[]string{"1", "…", "7"}, locale.Mark("views of a run")},
	{[]string{"f", "F"}, locale.Mark("next and previous failure")},
	{[]string{"[", "]"}, locale.Mark("previous and next attempt")},
	{[]string{",", "."}, locale.Mark("previous and next checkpoint")},
	{[]string{"i"}, locale.Mark("to the inspector")},
	{[]string{"l"}, locale.Mark("follow the active step, or the log")},
	{[]string{"r"}, locale.Mark("preview of resuming the run")},
	{[]string{"y"}, locale.Mark("preview of forking the run")},
	{[]string{"c"}, locale.Mark("copy the page's address")},
	{[]string{"m"}, locale.Mark("copy a summary of the incident")},
}
