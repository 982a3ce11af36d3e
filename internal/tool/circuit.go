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

// Reach is whom the calls of a tool go to: how many circuits it has.
type Reach int

const (
	ReachesNobody Reach = iota // it computes, or works on this machine: no circuit
	ReachesOne                 // all calls go to the same: one circuit
	ReachesHosts               // the arguments say to whom: one circuit for each
)

func reachOf(t llm.Tool, spec llm.ToolSpec) Reach {
	if _, local := t.(*function); local || spec.Effect == walk.EffectPure {
		return ReachesNobody
	}
	if spec.HostOf != nil {
		return ReachesHosts
	}
	return ReachesOne
}

// Reach says whom the calls of a tool go to; nobody for an unknown one.
func (s *Set) Reach(name string) Reach {
	r, _ := s.lookup(name)
	return r.reach
}

// Host is whom a call with these arguments goes to, as its circuit is named; empty:
// the tool has one circuit, or the arguments do not say.
func (s *Set) Host(name string, args any) string {
	r, _ := s.lookup(name)
	if r.reach != ReachesHosts {
		return ""
	}
	return r.spec.HostOf(args)
}

// Breaker is when a circuit of a tool opens.
func (s *Set) Breaker(name string) circuit.Settings { return said(s.breakers, name).WithDefaults() }

// CodeCircuitOpen is the failure of a call that a circuit refused: it was not made.
const CodeCircuitOpen = "tool_circuit_open"

// enter asks the circuit of a call whether it may be made.
func (s *Set) enter(r registered, name string, args any) (circuit.Pass, error) {
	id, what := circuit.ID{Subject: activity.Tool + name}, "the tool "+name
	switch r.reach {
	case ReachesNobody:
		return circuit.Pass{}, nil
	case ReachesHosts:
		if id.Part = r.spec.HostOf(args); id.Part == "" {
			return circuit.Pass{}, nil
		}
	}
	pass, refusal := s.circuits.Enter(id, said(s.breakers, name))
	if refusal == nil {
		return pass, nil
	}
	if part := refusal.Circuit.Part; part != "" {
		what = part + " (" + name + ")"
	}
	return pass, refusal.Failure(CodeCircuitOpen, what)
}

// usualPatience is how long a call must have lasted for its timeout to say
// something of the other side, and not of whoever asked for so short a one.
const usualPatience = 5 * time.Second

// patienceOf is less where the configuration gives the tool less time than that.
func patienceOf(t llm.Tool) time.Duration {
	if p, ok := t.(interface{ Patience() time.Duration }); ok && p.Patience() > 0 {
		return min(usualPatience, p.Patience())
	}
	return usualPatience
}

// Codes of failures which say that the other side is down, and of those which say
// that it has answered. What else there is says nothing: it may be the plan's fault.
//
// An MCP server that does not run is no reason to open a circuit: calls of it are
// refused anyway, until it is started again.
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

// judge tells what a call says of whom it was made to. A refusal of the request, or
// an answer that cannot be used, comes from somebody who works.
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

// cut reports whether an error is one of a connection: tools that are registered by
// programs need not know our codes.
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
