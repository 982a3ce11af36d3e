package tool

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/metric/activity"
	"github.com/kairosd/kairosd/planner/walk"
)

// Reach describes which systems the calls of a tool reach, and thus how many circuits it has.
type Reach int

const (
	ReachesNone  Reach = iota // the tool only computes or uses this machine: no circuit
	ReachesOne                // all calls go to one system: one circuit
	ReachesHosts              // each target in the arguments has its own circuit
)

func reachOf(t llm.Tool, spec llm.ToolSpec) Reach {
	if _, local := t.(*function); local || spec.Effect == walk.EffectPure {
		return ReachesNone
	}
	if spec.HostOf != nil {
		return ReachesHosts
	}
	return ReachesOne
}

// Reach returns which systems the calls of a tool reach. An unknown tool reaches none.
func (s *Set) Reach(name string) Reach {
	r, _ := s.lookup(name)
	return r.reach
}

// Host returns the target of a call with these arguments, in the form that names its circuit. It is
// empty if the tool has one circuit, or if the arguments have no target.
func (s *Set) Host(name string, args any) string {
	r, _ := s.lookup(name)
	if r.reach != ReachesHosts {
		return ""
	}
	return r.spec.HostOf(args)
}

// Breaker returns the settings of a tool's circuits.
func (s *Set) Breaker(name string) circuit.Settings { return lookup(s.breakers, name).WithDefaults() }

// CodeCircuitOpen is the failure code of a call that was not made because a circuit was open.
const CodeCircuitOpen = "tool_circuit_open"

// enter checks whether the circuit of a call permits it.
func (s *Set) enter(r registered, name string, args any) (circuit.Pass, error) {
	id, what := circuit.ID{Subject: activity.Tool + name}, "the tool "+name
	switch r.reach {
	case ReachesNone:
		return circuit.Pass{}, nil
	case ReachesHosts:
		if id.Part = r.spec.HostOf(args); id.Part == "" {
			return circuit.Pass{}, nil
		}
	}
	pass, refusal := s.circuits.Enter(id, lookup(s.breakers, name))
	if refusal == nil {
		return pass, nil
	}
	if part := refusal.Circuit.Part; part != "" {
		what = part + " (" + name + ")"
	}
	return pass, refusal.Failure(CodeCircuitOpen, what)
}

// usualDuration is the minimum duration after which a timeout counts against the other system. A
// shorter timeout is the caller's choice.
const usualDuration = 5 * time.Second

// maxDurationOf returns the minimum duration for a tool. It is shorter if the configuration sets a
// shorter timeout.
func maxDurationOf(t llm.Tool) time.Duration {
	if p, ok := t.(interface{ MaxDuration() time.Duration }); ok && p.MaxDuration() > 0 {
		return min(usualDuration, p.MaxDuration())
	}
	return usualDuration
}

// Codes of failures that mean that the other side is down, and of those that mean that it answered.
// All others mean neither, because the plan may be the cause.
//
// A stopped MCP server does not open a circuit, because its calls are rejected until it starts
// again.
var (
	downCodes = map[string]bool{
		CodeUnreachable: true,
		"unavailable":   true,
		"rate_limited":  true,
		"http_429":      true,
		"mcp.exit":      true,
		"mcp.server":    true,
	}
	upCodes = map[string]bool{CodeTooLarge: true, "not_json": true, "redirects": true, "mcp.tool": true}
)

// judge returns the meaning of a result for the circuit. A rejected request or an unusable answer
// comes from a working system.
func judge(ctx context.Context, err error, took, patience time.Duration) circuit.Verdict {
	if err == nil {
		return circuit.Well
	}
	f := walk.AsFailure(err)
	code := f.Code
	switch {
	case code == walk.CodeTimeout || errors.Is(err, context.DeadlineExceeded):
		if took < patience {
			return circuit.Silent
		}
		return circuit.Unwell
	case code == walk.CodeCancelled, ctx.Err() != nil:
		return circuit.Silent
	case upCodes[code]:
		return circuit.Well
	case strings.HasPrefix(code, "http_5") && !f.Permanent:
		return circuit.Unwell
	case strings.HasPrefix(code, "http_") && !downCodes[code]:
		return circuit.Well
	case f.Permanent:
		return circuit.Silent
	case downCodes[code], cut(err):
		return circuit.Unwell
	}
	return circuit.Silent
}

// cut reports whether an error is a connection error, because tools that programs register need not
// use the codes of kairosd.
func cut(err error) bool {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return true
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}
