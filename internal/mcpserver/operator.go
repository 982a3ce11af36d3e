package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

// Names of operators' tools.
const (
	awaitTool   = operatorPrefix + "await_run"
	listTool    = operatorPrefix + "list_runs"
	showTool    = operatorPrefix + "show_run"
	previewTool = operatorPrefix + "preview_action"
	actTool     = operatorPrefix + "act"
)

type runArgs struct {
	Run string `json:"run" jsonschema:"The id of the run, or a unique part of it with at least 4 characters."`
}

type listArgs struct {
	Filter string `json:"filter,omitempty" jsonschema:"Such as status:failed plan:invoice since:24h label.env=prod."`
	Limit  int    `json:"limit,omitempty" jsonschema:"The maximum number of runs, from 1 to 100. Default: 20."`
}

type actionArgs struct {
	Run    string `json:"run" jsonschema:"The id of the run, or a unique part of it with at least 4 characters."`
	Action string `json:"action" jsonschema:"resume, rerun, fork, or cancel."`
	Seq    int64  `json:"seq,omitempty" jsonschema:"For a fork: the journal position up to which results are kept. 0 keeps nothing."`
}

type actArgs struct {
	Run    string `json:"run" jsonschema:"The id of the run."`
	Action string `json:"action" jsonschema:"resume, rerun, fork, or cancel."`
	Seq    int64  `json:"seq,omitempty" jsonschema:"For a fork: the position of the preview."`
	Digest string `json:"digest" jsonschema:"The digest of the preview that a person confirmed."`
}

// addOperatorTools adds the tools that the principal may use.
func (c *session) addOperatorTools(server *mcp.Server) {
	tool := func(name, title, description string) *mcp.Tool {
		return &mcp.Tool{Name: name, Title: title, Description: description,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(false),
				OpenWorldHint: new(false)}}
	}
	if app.May(c.by, app.AwaitRun) {
		about := "Waits some seconds for a run that a call started, and returns its result or its status."
		mcp.AddTool(server, tool(awaitTool, "Await a run", about),
			func(ctx context.Context, req *mcp.CallToolRequest, in runArgs) (*mcp.CallToolResult, any, error) {
				return c.await(ctx, req, in.Run), nil, nil
			})
	}
	if app.May(c.by, app.ListRuns) {
		mcp.AddTool(server, tool(listTool, "List runs", "Lists runs, newest first."), c.listRuns)
	}
	if app.May(c.by, app.GetRun) {
		mcp.AddTool(server, tool(showTool, "Show a run", "Shows a run: its status, what it waits for, and why it failed."), c.showRun)
	}
	if app.May(c.by, app.PreviewRun) {
		mcp.AddTool(server, tool(previewTool, "Preview an action",
			"Shows what an action on a run would do, without doing it. A person confirms the action or carries it out."), c.preview)
	}
	if app.May(c.by, app.ActConfirmed) && app.May(c.by, app.PreviewRun) {
		act := tool(actTool, "Act on a run", "Carries out an action that you previewed and a person confirmed. "+
			"Without a confirmation, the action is put into the inbox of people. Call it again when a person has decided.")
		act.Annotations = &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(true)}
		mcp.AddTool(server, act, c.act)
	}
}

func (c *session) listRuns(ctx context.Context, _ *mcp.CallToolRequest, in listArgs) (*mcp.CallToolResult, any, error) {
	f, problem := filter.Parse(in.Filter, time.Now())
	if problem != nil {
		return refused(problem), nil, nil
	}
	f.Page.Limit = min(max(cmp.Or(in.Limit, 20), 1), 100)
	list, err := c.App.Runs.List(ctx, c.by, f)
	if err != nil {
		return c.failed(err), nil, nil
	}
	runs := []apitypes.Run{}
	var text strings.Builder
	for _, r := range list.Items {
		runs = append(runs, apitypes.RunOf(r))
		fmt.Fprintf(&text, "%s  %s  %s  %s  %s\n", r.ID, r.CreatedAt.UTC().Format(time.RFC3339), r.PlanKey, r.Status, r.Headline)
	}
	if len(runs) == 0 {
		text.WriteString("No runs match.")
	}
	return result(map[string]any{"runs": runs, "more": list.Next != ""}, text.String()), nil, nil
}

// explained is a run with the reason of its failure.
type explained struct {
	ID string `json:"id"`
	apitypes.RunState
	apitypes.RunFacts
	domain.FailureStatus
	Suggestion  string               `json:"suggestion,omitempty"`
	Waits       []domain.Wait        `json:"waits,omitempty"`
	FailedSteps []domain.RunError    `json:"failedSteps,omitempty"`
	Path        []string             `json:"path,omitempty"`
	Since       domain.FailureOrigin `json:"failingSince,omitzero"`
	URL         string               `json:"url,omitempty"`
}

func (c *session) showRun(ctx context.Context, _ *mcp.CallToolRequest, in runArgs) (*mcp.CallToolResult, any, error) {
	f, err := c.App.Runs.Get(ctx, c.by, in.Run)
	if err != nil {
		return c.failed(err), nil, nil
	}
	r := f.Run
	of := domain.ResultOf(f.RunDetail)
	x := explained{ID: r.ID, RunState: apitypes.StateOf(r), RunFacts: apitypes.FactsOf(r), Waits: f.Waits, FailedSteps: of.FailedSteps,
		Path: of.Path[max(0, len(of.Path)-100):], URL: c.page("/runs/" + r.ID)}
	if x.FailureStatus, err = c.App.Failures.Standing(ctx, c.by, r); err != nil {
		return c.failed(err), nil, nil
	}
	text := fmt.Sprintf("Run %s of %s v%d is %s: %s", r.ID, r.PlanKey, r.Version, r.Status, r.Headline)
	if ref, failed := r.Failure(); failed {
		x.Suggestion = domain.SuggestionOf(f.Journal, r.Error.Node)
		text = c.failure(f)
		if g := x.FailureGroup; g != nil {
			if x.Since, err = c.App.Failures.Origin(ctx, c.by, ref); err != nil {
				return c.failed(err), nil, nil
			}
			text += fmt.Sprintf("\nRuns that fail this way since %s: %d.", g.First.UTC().Format(time.RFC3339), g.Runs)
		}
	}
	for _, w := range f.Waits {
		text += fmt.Sprintf("\nIt waits: %s at step %s. %s", w.Reason, w.Node, w.Message)
	}
	return result(x, text), nil, nil
}

// request returns the request for an action.
func (in actionArgs) request() (domain.ActionRequest, error) {
	if a := domain.Action(in.Action); slices.Contains(app.Confirmable, a) {
		return domain.ActionRequest{Run: in.Run, Action: a, At: in.Seq}, nil
	}
	return domain.ActionRequest{}, domain.Errorf(domain.CodeInvalid, "unknown action %.40q", in.Action).
		Suggest("use resume, rerun, fork, or cancel")
}

func (c *session) preview(ctx context.Context, _ *mcp.CallToolRequest, in actionArgs) (*mcp.CallToolResult, any, error) {
	req, err := in.request()
	if err != nil {
		return refused(err), nil, nil
	}
	p, err := c.App.Runs.Preview(ctx, c.by, req)
	if err != nil {
		return c.failed(err), nil, nil
	}
	text := previewText(p)
	address := c.page("/runs/" + p.Run + "/" + in.Action)
	if address != "" && in.Seq > 0 {
		address += "?" + url.Values{"at": {strconv.FormatInt(in.Seq, 10)}}.Encode()
	}
	out := map[string]any{"preview": p, "url": address}
	if p.Allowed {
		at, q := "", url.Values{"action": {in.Action}, "digest": {p.Digest}}
		if in.Seq > 0 {
			at = fmt.Sprintf(" --at %d", in.Seq)
			q.Set("at", strconv.FormatInt(in.Seq, 10))
		}
		confirm := c.page("/runs/" + p.Run + "/confirm?" + q.Encode())
		out["confirmUrl"] = confirm
		text += "\nA person carries out the action." + seeAlso(address) + " Or a person confirms it for you"
		if confirm != "" {
			text += " at " + confirm + ", or with"
		} else {
			text += ":"
		}
		text += fmt.Sprintf(" kairos mcp confirm %s %s %s%s.", p.Run, in.Action, p.Digest, at)
	}
	return result(out, text), nil, nil
}

func (c *session) act(ctx context.Context, _ *mcp.CallToolRequest, in actArgs) (*mcp.CallToolResult, any, error) {
	req, err := actionArgs{in.Run, in.Action, in.Seq}.request()
	if err != nil {
		return refused(err), nil, nil
	}
	req.Digest = in.Digest
	run, err := c.App.Runs.ActConfirmed(ctx, app.ActRequest{Meta: app.Meta{By: c.by}, ActionRequest: req})
	if err != nil {
		return c.failed(err), nil, nil
	}
	o := outcome{Run: run.ID, Plan: run.PlanKey, Status: run.Status, Steps: run.Steps, URL: c.page("/runs/" + run.ID)}
	return result(o, fmt.Sprintf("Done: %s. Run %s is %s.", req.Action, run.ID, run.Status)), nil, nil
}

// previewText describes a preview in a few lines.
func previewText(p domain.Preview) string {
	if !p.Allowed {
		return strings.TrimSpace(fmt.Sprintf("Not possible: %s\n%s", p.Refusal, p.Suggestion))
	}
	text := fmt.Sprintf("%s: %d steps keep their results, %d run again, %d are new, %d are in doubt.", p.Action, len(p.Keep), len(p.Again),
		len(p.New), len(p.InDoubt))
	for _, s := range p.Effects {
		text += fmt.Sprintf("\nSide effect: %s (%s)", s.Node, s.Effect)
	}
	for _, s := range p.Repeats {
		text += fmt.Sprintf("\nRepeated side effect: %s (%s)", s.Node, s.Effect)
	}
	return text + "\nDigest: " + p.Digest
}
