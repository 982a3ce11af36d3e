package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// maxKey is the maximum length of an idempotency key.
const maxKey = 128

// operatorPrefix begins the names of the tools that are not plans.
const operatorPrefix = "kairos_"

// addPlanTool adds a plan as a tool. The names of operators' tools are taken.
func (c *session) addPlanTool(server *mcp.Server, t app.PlanTool) {
	if strings.HasPrefix(t.Plan.Key, operatorPrefix) {
		return
	}
	schema, wrapped := inputSchema(t.Input)
	server.AddTool(&mcp.Tool{
		Name: t.Plan.Key, Title: t.Plan.Name, InputSchema: schema,
		Description: cmp.Or(t.Plan.Description, t.Plan.Name, "Runs the plan "+t.Plan.Key+"."),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Idempotent, DestructiveHint: &t.Destructive},
	}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return c.callPlan(ctx, req, t, wrapped)
	})
}

// inputSchema returns the schema of a tool's arguments, which are an object. A plan with another input
// has it as the argument "input".
func inputSchema(of any) (schema map[string]any, wrapped bool) {
	plan, isObject := of.(map[string]any)
	switch {
	case !isObject || len(plan) == 0:
		return map[string]any{"type": "object"}, false
	case plan["type"] == "object":
		return plan, false
	}
	return map[string]any{"type": "object", "required": []string{"input"}, "properties": map[string]any{"input": plan},
		"additionalProperties": false}, true
}

// callPlan starts a run and waits for it.
func (c *session) callPlan(ctx context.Context, req *mcp.CallToolRequest, t app.PlanTool, wrapped bool) (*mcp.CallToolResult, error) {
	input := domain.RawJSON(req.Params.Arguments)
	if wrapped {
		var args struct{ Input json.RawMessage }
		if err := json.Unmarshal(req.Params.Arguments, &args); err != nil || args.Input == nil {
			return refused(domain.Errorf(domain.CodeInvalid, "the argument input is missing")), nil
		}
		input = domain.RawJSON(args.Input)
	} else if len(input) == 0 && t.Input != nil {
		input = domain.RawJSON("{}")
	}
	key, err := keyOf(req.Params.Meta)
	if err != nil {
		return refused(err), nil
	}
	run, err := c.App.PlanTools.Call(ctx, app.ToolCall{Meta: app.Meta{By: c.by, Key: key}, Tool: t.Plan.Key, Input: input})
	if err != nil {
		return c.failed(err), nil
	}
	return c.await(ctx, req, run.ID), nil
}

// keyOf returns the idempotency key of a call, or "".
func keyOf(meta mcp.Meta) (string, error) {
	v, ok := meta[domain.MCPKey]
	if !ok {
		return "", nil
	}
	key, _ := v.(string)
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", domain.Errorf(domain.CodeInvalid, "%s must be a text of 1 to %d printable ASCII characters without spaces",
			domain.MCPKey, maxKey)
	}
	return key, nil
}

// await waits for a run with reports of its progress.
func (c *session) await(ctx context.Context, req *mcp.CallToolRequest, run string) *mcp.CallToolResult {
	var each func(domain.Run)
	if token := req.Params.GetProgressToken(); token != nil {
		each = func(r domain.Run) {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(r.Steps),
				Message: r.Headline})
			if err != nil {
				c.Log.Debug("report the progress of a run", "run", r.ID, "err", err)
			}
		}
	}
	waiting, end := c.within(ctx)
	defer end()
	f, err := c.App.PlanTools.Await(waiting, c.by, run, each)
	if err != nil {
		return c.failed(err)
	}
	return c.outcome(f)
}
