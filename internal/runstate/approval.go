package runstate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonschema"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// ApprovalInput is the input of an approval step.
type ApprovalInput struct {
	message   string
	Form      any             // JSON Schema of the values of an answer, or nil
	Timeout   time.Duration   // 0 means no timeout
	onTimeout string          // "approve", "reject", or "fail"
	Answers   []domain.Answer // from the plan; nil means approve and reject
}

// ReadApproval parses the input of an approval step: a text, or an object.
func ReadApproval(input any) (ApprovalInput, error) {
	var in ApprovalInput
	if text, ok := input.(string); ok {
		in.message, in.onTimeout = text, "reject"
		return in, nil
	}
	m, ok := input.(map[string]any)
	if !ok {
		return in, fmt.Errorf("an approval accepts {message, answers?, form?, timeout?, on_timeout?}")
	}
	in.message = FormMessage(m)
	declared, err := planner.Answers(m)
	if err != nil {
		return in, err
	}
	for _, a := range declared {
		in.Answers = append(in.Answers, domain.Answer{ID: a.ID, Label: a.Label, Kind: domain.AnswerKind(a.Kind)})
	}
	in.Form = m["form"]
	if in.Form != nil {
		if err := checkForm(in.Form); err != nil {
			return in, err
		}
	}
	if m["timeout"] != nil {
		d, err := walk.ParseDuration(jsonvalue.Text(m["timeout"]))
		if err != nil || d <= 0 {
			return in, fmt.Errorf("timeout %q is not a positive duration", jsonvalue.Text(m["timeout"]))
		}
		in.Timeout = d.Truncate(time.Microsecond)
	}
	in.onTimeout = "reject"
	if m["on_timeout"] != nil {
		in.onTimeout = jsonvalue.Text(m["on_timeout"])
	}
	switch in.onTimeout {
	case "approve", "reject", "fail":
	default:
		return in, fmt.Errorf("unknown on_timeout %q: use approve, reject, or fail", in.onTimeout)
	}
	return in, nil
}

// ApprovalRequest returns the open approval of a step. It is computed from the row of the wait, so
// that an approval can be closed or reopened before it is durable.
func ApprovalRequest(run *domain.Run, s *State, w *Step) domain.Approval {
	node := &s.Program.Nodes[w.Node]
	p := domain.Approval{ID: w.Ref, Run: run.ID, PlanKey: run.PlanKey, Node: node.ID, Visit: w.Visit, Item: w.Item, Status: "pending",
		OnTimeout: "reject", DueAt: w.Due, CreatedAt: w.Since, StartedBy: run.Actor, Rev: w.RequestSeq}
	input, err := Decode(w.Input)
	if err != nil {
		input = nil // the row was read, and its value is valid JSON
	}
	if w.ReplanTarget == nil {
		p.Label = node.Metadata["risk"]
		p.Choices = []domain.Answer{{ID: "approve", Label: node.Metadata["approve"], Kind: domain.AnswerApprove}, {ID: "reject",
			Label: node.Metadata["reject"], Kind: domain.AnswerReject}}
	}
	switch c := w.Consent; {
	case w.ReplanTarget != nil:
		if m, ok := input.(map[string]any); ok {
			p.Message = jsonvalue.Text(m["message"])
		}
		p.Digest = approvalDigest(&p, map[string]any{"tail": w.ReplanTarget.Hash})
	case c != nil:
		p.Message, p.Tool, p.Arguments = c.Message(node.ID), c.Tool, c.Args
		if c.Substep > 0 {
			p.Agent, p.MayAsk = cmp.Or(s.Agents[w.Node], node.Agent, "agent"), true
		}
		p.Digest = approvalDigest(&p, map[string]any{"substep": c.Substep, "call": c.Digest, "due": w.Due.UnixMicro()})
	default:
		if in, err := ReadApproval(input); err == nil {
			p.Message, p.OnTimeout = in.message, in.onTimeout
			if in.Form != nil {
				p.Form = MustJSON(in.Form)
			}
			if in.Answers != nil {
				p.Choices = in.Answers
			}
		}
		p.Digest = w.Binding
	}
	return p
}

// approvalDigest binds the answer to the exact call or version.
func approvalDigest(p *domain.Approval, input any) string {
	raw, err := jsonvalue.Encode(input)
	if err != nil {
		raw = []byte(err.Error())
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%d\x00%d\x00%s\x00", p.Run, p.Node, p.Visit, p.Item, p.PlanKey)
	h.Write(raw)
	return hex.EncodeToString(h.Sum(nil))
}

// DerivedID returns an ID that depends only on its arguments, so that a repetition returns the same
// ID.
func DerivedID(kind, run, node string, visit, item, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d\x00%d\x00%d", kind, run, node, visit, item, n))
	return domain.IDFrom([16]byte(sum[:16]))
}

// ApprovalBinding returns the digest that an answer to an approval step is bound to. It covers the
// request, the version and the input of the run, and every known output that this step or a later
// one uses.
func ApprovalBinding(run *domain.Run, prog *Compiled, s *State, k walk.VisitKey, item int, input any) string {
	h := sha256.New()
	part := func(name string, raw []byte) { fmt.Fprintf(h, "%s\x00%d\x00%s\x00", name, len(raw), raw) }
	encode := func(v any) []byte {
		raw, err := jsonvalue.Encode(v)
		if err != nil {
			return []byte(err.Error()) // a JSON value can only fail by its depth
		}
		return raw
	}
	part("request", fmt.Appendf(nil, "%s %s %s %d %d", run.ID, run.PlanKey, prog.Nodes[k.Node].ID, k.Visit, item))
	part("version", []byte(prog.Hash))
	if prog.Profile != "" {
		part("profile", []byte(prog.Profile))
	}
	part("question", encode(input))
	f := s.Foreach[k]
	if f == nil {
		f = &Foreach{}
	}
	if f.Values == nil { // the items of a visit share it
		values := sha256.New()
		fmt.Fprintf(values, "input %d %s\x00", len(run.Input), run.Input)
		fmt.Fprintf(values, "last %s\x00", encode(s.Walk.Last(k)))
		for _, n := range prog.BoundNodes(k.Node) {
			if out, ok := s.Walk.Output(prog.Nodes[n].ID); ok {
				fmt.Fprintf(values, "%s %s\x00", prog.Nodes[n].ID, encode(out))
			}
		}
		f.Values = values.Sum(nil)
	}
	part("values", f.Values)
	return hex.EncodeToString(h.Sum(nil))
}

// checkForm returns why a form is invalid.
func checkForm(form any) error {
	if _, err := jsonschema.Parse(form); err != nil {
		return fmt.Errorf("the form is not a JSON Schema: %w", err)
	}
	return nil
}
