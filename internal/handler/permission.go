package handler

import (
	"strings"

	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

var _ engine.Gated = (*Registry)(nil)

// permission combines the configured permissions of a tool, for this plan and this agent, with the
// node's `metadata.permission`. The node's value can only make the result stricter.
func (r *Registry) permission(plan string, node *walk.ProgramNode, agent tool.Permissions, name string) (tool.Permission, error) {
	own := tool.Permission(node.Metadata["permission"])
	if own != "" && !own.Valid() {
		return "", (&walk.Failure{Code: walk.CodeInvalidInput, Permanent: true, NoEffect: true,
			Suggestion: "use allow, ask, or deny"}).
			WithMessage("metadata.permission of node %q is %q", node.ID, own)
	}
	p := tool.Stricter(own, r.tools.PermissionIn(plan, name, agent))
	if p == tool.Deny {
		return p, (&walk.Failure{Code: walk.CodePolicy, Permanent: true, NoEffect: true,
			Suggestion: "allow it in the configuration: tools.permissions, tools.plans or permissions of the agent"}).
			WithMessage("the tool %q is denied", name)
	}
	return p, nil
}

// Denied reports whether the configuration denies a tool to runs of a plan, regardless
// of the caller.
func (r *Registry) Denied(plan, name string) bool {
	return r.tools.PermissionIn(plan, name, nil) == tool.Deny
}

// Gate returns the call that a person must approve before a tool node runs, or nil if its
// permission does not require an approval. A call with invalid arguments fails before the approval.
func (r *Registry) Gate(plan string, node *walk.ProgramNode, input any) (*engine.CallToApprove, error) {
	if node.Type != walk.TypeTool {
		return nil, nil
	}
	p, err := r.permission(plan, node, nil, node.Tool)
	if err != nil || p != tool.Ask {
		return nil, err
	}
	args := tool.Arguments(input)
	// The schema cannot check a reference to a secret, because it is not a value yet.
	if !strings.Contains(jsonvalue.Text(args), "${secret.") {
		if err := r.tools.Check(node.Tool, args); err != nil {
			return nil, err
		}
	}
	return &engine.CallToApprove{Tool: node.Tool, Args: args}, nil
}

// permitted returns an error for a denied tool. The journal records it like any other failure of a
// call.
func (r *Registry) permitted(call *engine.Call, agent tool.Permissions, name string) error {
	_, err := r.permission(call.PlanKey, call.Node, agent, name)
	return err
}

// consent requires an approval before substep n calls a tool with the permission ask. It returns
// nil if no approval is required or if the call is approved, the rejection as the call's failure,
// or [engine.ErrApprovalPending].
func (r *Registry) consent(call *engine.Call, agent tool.Permissions, n int, name string, args any) error {
	p, err := r.permission(call.PlanKey, call.Node, agent, name)
	if err != nil || p != tool.Ask || r.tools.Check(name, args) != nil {
		return nil // a call that fails anyway needs no approval; the call itself returns the error
	}
	return call.Approve(n, engine.CallToApprove{Tool: name, Args: args})
}
