package walk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/suggest"
)

// conditionKind distinguishes the forms of a condition.
type conditionKind int

const (
	condFallback conditionKind = iota // empty, default, or always
	condFailed                        // failed
	condPlain                         // operand OP value
	condExpr                          // expr: …
)

// Condition is a compiled condition of an edge or of a `when:`. See
// docs/reference/plan-language.md. It is immutable and safe for concurrent use.
type Condition struct {
	// Text is the condition as written.
	Text    string
	kind    conditionKind
	op      string // "==", "!=", ".contains:"
	operand *Reference
	value   string
	codes   []string // of condFailed; empty: any failure
	expr    *expression
}

// Fallback reports whether the condition is empty, "default", or "always".
func (c *Condition) Fallback() bool { return c == nil || c.kind == condFallback }

// OnFailure reports whether the condition is "failed" or "failed: CODE, …": an error edge.
func (c *Condition) OnFailure() bool { return c != nil && c.kind == condFailed }

// Catches reports whether an error edge is taken after a failure with this code.
func (c *Condition) Catches(code string) bool {
	return c.OnFailure() && (len(c.codes) == 0 || slices.Contains(c.codes, code))
}

// CatchesAll reports whether an error edge is taken after any failure.
func (c *Condition) CatchesAll() bool { return c.OnFailure() && len(c.codes) == 0 }

// Plain reports whether the condition is `operand OP value`.
func (c *Condition) Plain() bool { return c != nil && c.kind == condPlain }

// Value returns the right side of a plain condition.
func (c *Condition) Value() string { return c.value }

// Nodes returns the IDs of the nodes whose outputs the condition reads. all is true if an
// expression uses `output` in a way that may read any of them.
func (c *Condition) Nodes() (nodes []string, all bool) {
	switch {
	case c == nil:
	case c.operand != nil && c.operand.Root == RefOutput:
		nodes = []string{c.operand.node}
	case c.expr != nil:
		return c.expr.nodes, c.expr.allNodes
	}
	return nodes, false
}

// Statuses lists the nodes whose statuses the condition reads.
func (c *Condition) Statuses() []string {
	switch {
	case c == nil:
	case c.operand != nil && c.operand.Root == RefStatus:
		return []string{c.operand.node}
	case c.expr != nil:
		return c.expr.statuses
	}
	return nil
}

// ReadsMemory reports whether the condition reads what memory returned.
func (c *Condition) ReadsMemory() bool {
	return c != nil && (c.operand != nil && c.operand.Root == RefMemory || c.expr != nil && c.expr.memory)
}

// operators of plain conditions. The leftmost occurrence in the text counts.
var operators = []string{"==", "!=", ".contains:"}

// ParseCondition compiles a condition. The error is a [*SyntaxError].
func ParseCondition(text string) (*Condition, error) {
	c := &Condition{Text: text}
	trimmed := strings.TrimSpace(text)
	switch trimmed {
	case "", "default", "always":
		return c, nil
	case "failed":
		c.kind = condFailed
		return c, nil
	}
	if len(text) > maxExpression {
		return nil, &SyntaxError{
			Message: message.New("the condition has %d bytes; at most %d are allowed", len(text), maxExpression),
			Column:  1,
		}
	}
	lead := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
	if list, ok := strings.CutPrefix(trimmed, "failed:"); ok {
		c.kind = condFailed
		for code := range strings.SplitSeq(list, ",") {
			if code = strings.TrimSpace(code); !ValidID(strings.ReplaceAll(code, ".", "_")) {
				return nil, &SyntaxError{Message: message.New("invalid error code %s", jsonvalue.Quote(code)),
					Column: lead + len("failed:") + 1, Suggestion: message.New("write failed: rate_limited, timeout")}
			}
			c.codes = append(c.codes, code)
		}
		return c, nil
	}
	if src, ok := strings.CutPrefix(trimmed, "expr:"); ok {
		x, err := compileExpression(src, false)
		if err != nil {
			err.Column += lead + len("expr:")
			return nil, err
		}
		c.kind, c.expr = condExpr, x
		return c, nil
	}
	c.kind = condPlain
	at := -1
	for _, op := range operators {
		if i := strings.Index(trimmed, op); i >= 0 && (at < 0 || i < at) {
			at, c.op = i, op
		}
	}
	if at < 0 {
		return nil, malformed(trimmed, lead)
	}
	left := strings.TrimRight(trimmed[:at], " \t")
	ref := &Reference{Text: left}
	rest, err := ref.parseTarget(left)
	if err != nil {
		err.Column += lead + 1
		return nil, err
	}
	if strings.TrimSpace(rest) != "" {
		return nil, &SyntaxError{
			Message: message.New("unexpected %s before %s", jsonvalue.Quote(rest), c.op),
			Column:  lead + len(left) - len(rest) + 1,
		}
	}
	switch ref.Root {
	case RefLast, RefInput, RefOutput, RefStatus, RefValue:
	default:
		return nil, &SyntaxError{Message: message.New("a condition cannot read %s", ref.Root), Column: lead + 1,
			Suggestion: message.New("conditions compare last, input, value, output.<node>, or status.<node>; use expr: for more")}
	}
	c.operand = ref
	c.value = unquote(strings.TrimSpace(trimmed[at+len(c.op):]))
	return c, nil
}

// malformed explains why a text is not a condition.
func malformed(text string, lead int) *SyntaxError {
	e := &SyntaxError{Message: message.New("malformed condition %s", jsonvalue.Quote(text)), Column: lead + 1,
		Suggestion: message.New(
			"write default, failed, last==value, output.node.path!=value, last.contains:text, or expr: with an expression",
		)}
	switch word := strings.ToLower(text); {
	case strings.ContainsAny(text, "＝≤≥≠“”‘’"):
		e.Suggestion = message.New("use the plain characters ==, !=, <=, >= and straight quotes")
	case strings.ContainsAny(text, "<>") || strings.Contains(text, "&&") || strings.Contains(text, "||"):
		e.Suggestion = message.New("comparisons need an expression: expr: %s", text)
	case strings.HasPrefix(text, "=") || strings.Contains(text, "="):
		e.Suggestion = message.New("write == for equality")
	default:
		if near := suggest.Nearest(word, []string{"default", "always", "failed"}); near != "" {
			e.Suggestion = message.New("did you mean %s?", near)
		}
	}
	return e
}

// unquote removes matching quotes around the whole value.
func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] && !strings.ContainsRune(s[1:len(s)-1], rune(s[0])) {
		return s[1 : len(s)-1]
	}
	return s
}

// ParseExpression compiles the expression of a custom step condition. On an edge, the same
// expression follows "expr:". The error is a [*SyntaxError].
func ParseExpression(text string) (*Condition, error) {
	src := strings.TrimSpace(text)
	src = strings.TrimPrefix(src, "expr:")
	x, err := compileExpression(src, false)
	if err != nil {
		return nil, err
	}
	return &Condition{Text: text, kind: condExpr, expr: x}, nil
}

// evaluate reports whether the condition holds, and records the value that it read. If an
// expression fails, the failure contains the text of the condition and the position.
func (c *Condition) evaluate(s *scope) (bool, Evaluation, *Failure) {
	ev := Evaluation{Condition: c.Text}
	if s.meter == nil {
		s.meter = newMeter(context.Background(), decisionCost)
	}
	switch c.kind {
	case condFallback:
		ev.Result = "fallback"
		return true, ev, nil
	case condFailed:
		ev.Result = "false"
		return false, ev, nil
	case condExpr:
		holds, err := c.expr.evaluate(s)
		if err != nil {
			ev.Result = "error"
			f := (&Failure{
				Code:      CodeCondition,
				Permanent: true,
				NoEffect:  true,
			}).WithMessage("condition %s failed: %s", jsonvalue.Quote(c.Text), err)
			if problem, saw := c.expr.firstUnusable(s, true); problem != "" {
				ev.Problem, ev.Saw = problem, saw
				f.WithMessage("condition %s failed: %s", jsonvalue.Quote(c.Text), ev.Explain())
				f.Suggestion = "fork the run with another output of that step, or give the step an output schema"
			}
			return false, ev, f
		}
		ev.Result = boolText(holds)
		return holds, ev, nil
	}
	v, found := c.operand.lookup(s)
	if !found {
		ev.Result = "not found"
		ev.Problem, ev.Saw = c.operand.missing(s)
		return false, ev, nil
	}
	text, ok := jsonvalue.TextWithin(v)
	if !ok || !s.meter.charge(len(text)/plainBytes) {
		ev.Result = "error"
		return false, ev, (&Failure{
			Code:      CodeCondition,
			Permanent: true,
			NoEffect:  true,
		}).WithMessage("condition %s failed: %s", jsonvalue.Quote(c.Text), errCost)
	}
	ev.Saw = recordedText(text)
	var holds bool
	switch c.op {
	case "==":
		holds = jsonvalue.EqualText(text, c.value)
	case "!=":
		holds = !jsonvalue.EqualText(text, c.value)
	default:
		holds = strings.Contains(text, c.value)
	}
	ev.Result = boolText(holds)
	return holds, ev, nil
}

// evaluateGate is evaluate for a quality gate. If a value that the gate reads is missing or has
// another type, the gate is closed, and nothing fails.
func (c *Condition) evaluateGate(s *scope) (bool, Evaluation) {
	holds, ev, failure := c.evaluate(s)
	if c.kind != condExpr {
		return holds, ev
	}
	problem, saw := ev.Problem, ev.Saw
	switch {
	case failure == nil:
		problem, saw = c.expr.firstUnusable(s, false)
	case problem == "":
		problem = failure.Message
	}
	if problem != "" {
		ev.Result, ev.Problem, ev.Saw = ResultUnknown, problem, saw
		return false, ev
	}
	return holds, ev
}

// Explain explains why a condition has no result, and which value was there instead. It returns ""
// if the condition has a result.
func (e Evaluation) Explain() string {
	if e.Problem == "" || e.Saw == "" {
		return e.Problem
	}
	return fmt.Sprintf("%s; it returned: %s", e.Problem, e.Saw)
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// recordedText returns what a decision records of a value: the text up to 1 KiB, else its hash.
func recordedText(text string) string {
	if len(text) <= 1024 {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// SyntaxError reports a malformed condition, expression, or reference.
type SyntaxError struct {
	Message    message.Message
	Suggestion message.Message
	Column     int // in characters of the text, starting at 1
}

func (e *SyntaxError) Error() string { return e.Message.String() }

// Localize returns the message.
func (e *SyntaxError) Localize() message.Message { return e.Message }
