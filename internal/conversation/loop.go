// Package conversation contains the loop of an agent. It calls the model and the tools that the
// model requests, and returns the results to the model until the model answers. A journal makes the
// loop durable.
package conversation

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/jsonschema"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// Limits of one turn and of repetitions.
const (
	maxParallelCalls  = 8
	maxIdenticalCalls = 3
)

// DefaultMaxIterations is the maximum number of model calls for one answer.
const DefaultMaxIterations = 10

// Failure codes of a conversation with a model.
const (
	CodeNoProvider = "no_provider"
	CodeSchema     = "llm_schema"         // the answer does not match output_schema
	CodeLoop       = "llm_loop"           // the same call is repeated
	CodeIterations = "llm_max_iterations" // no final answer within the maximum number of iterations
)

// ErrNoProvider reports that a model is required but none was given.
var ErrNoProvider = (&walk.Failure{Code: CodeNoProvider, Permanent: true, NoEffect: true}).WithMessage("the agent has no provider")

// Loop is one conversation. It calls the model with tools, calls the requested tools in parallel,
// and returns the results to the model until the model answers.
type Loop struct {
	// Name is the name of the agent, for errors.
	Name     string
	Provider llm.Provider
	Model    string
	// System is the system message: the role of the model.
	System      string
	MaxTokens   int
	Temperature *float64
	// MaxIterations is the maximum number of model calls; 0 means [DefaultMaxIterations].
	MaxIterations int
	Tools         []llm.Tool
	// Schema, if set, is the JSON Schema of the answer, which then is a value instead of text. The
	// model may correct an answer that does not match it once.
	Schema map[string]any
	// Lenient accepts an answer that does not match Schema in the second attempt either: as a JSON
	// value if it is one, and as text otherwise.
	Lenient bool
	// Product, if set, is the property of Schema that an answer in prose becomes.
	Product string
	// Request, if set, is a message of the user that precedes the input of Run. It contains the
	// request that the input belongs to.
	Request string
	// Journal records every model call and tool call. If it is nil, nothing is recorded.
	Journal Journal
	// Approve is called before step n calls a tool; nil allows every call. A [*walk.Failure]
	// becomes the result of the call; any other error ends the conversation.
	Approve func(n int, tool string, args any) error
	// Handoff, if set, offers the tool of [HandoffSpec] to the model and carries out its calls, one
	// per turn. final reports that the answer is the answer of the conversation.
	Handoff func(ctx context.Context, args any) (answer any, final bool, err error)
	// FirstStep is added to the numbers of all steps, so that several conversations can share one
	// journal.
	FirstStep int
	// Key is the prefix of the idempotency keys of tool calls. If it is empty, they have none.
	Key string
	// Stream receives parts of the model's text, and Log receives log lines. Both may be nil.
	Stream func(text string)
	Log    func(level, message string)
}

// Journal runs each step of a conversation at most once. If an earlier attempt recorded step n, Do
// returns the recorded result without calling fn. Steps are numbered from 1 in the order of the
// conversation. Failures are recorded too.
type Journal interface {
	Do(n int, kind, digest string, effect walk.Effect, fn func() (any, llm.Usage, error)) (any, error)
}

// Caller is a [Journal] that also records tool calls for people. It is called before a call that is
// not idempotent.
type Caller interface {
	Calling(n int, args any)
}

// Bounder is a [Journal] that limits the usage of model calls. It is called before the call, and
// may lower r.MaxTokens.
type Bounder interface {
	Bound(n int, r *llm.Request)
}

// Router is a [Journal] that may send a model call to another provider. It is called when the call is permitted. Nil
// means the provider of the conversation.
type Router interface {
	Route(n int) llm.Provider
}

// provider returns the provider of the model call of step n.
func (c *conversation) provider(n int) llm.Provider {
	if r, ok := c.journal.(Router); ok {
		if p := r.Route(n); p != nil {
			return p
		}
	}
	return c.Provider
}

// unkept is a Journal that records nothing.
type unkept struct{}

func (unkept) Do(_ int, _, _ string, _ walk.Effect, fn func() (any, llm.Usage, error)) (any, error) {
	v, _, err := fn()
	return v, err
}

// Run answers a user's message, with the memory of the session. The answer is text, or a value that
// matches Schema. Errors are or wrap a [*walk.Failure].
func (l *Loop) Run(ctx context.Context, input, memory string) (any, error) {
	return l.Continue(ctx, Opening(l.System, memory, l.Request, input))
}

// Continue is Run for a conversation that already has messages.
func (l *Loop) Continue(ctx context.Context, messages []llm.Message) (any, error) {
	if l.Provider == nil {
		return nil, fmt.Errorf("agent %s: %w", l.Name, ErrNoProvider)
	}
	c := &conversation{
		Loop:     l,
		journal:  l.Journal,
		messages: messages,
		tools:    map[string]llm.Tool{},
		step:     l.FirstStep,
		seen:     map[string]int{},
	}
	if c.journal == nil {
		c.journal = unkept{}
	}
	for _, t := range l.Tools {
		spec := t.Spec()
		c.tools[spec.Name] = t
		c.specs = append(c.specs, spec)
	}
	if l.Handoff != nil {
		c.specs = append(c.specs, HandoffSpec)
	}
	if l.Schema != nil {
		var err error
		if c.schema, err = jsonschema.Parse(l.Schema); err != nil {
			return nil, (&walk.Failure{
				Code:      CodeSchema,
				Permanent: true,
				NoEffect:  true,
			}).WithMessage("output_schema of agent %s: %v", l.Name, err)
		}
	}
	return c.run(ctx)
}

// conversation is an active Loop.
type conversation struct {
	*Loop
	journal  Journal
	messages []llm.Message
	tools    map[string]llm.Tool
	specs    []llm.ToolSpec
	schema   *jsonschema.Schema
	step     int
	prompted int // number of messages that are already in a recorded prompt
	seen     map[string]int
	repaired bool
	// taken is set by a handoff that does not return control. out is then the answer.
	taken bool
	out   any
}

func (c *conversation) run(ctx context.Context) (any, error) {
	most := c.MaxIterations
	if most == 0 {
		most = DefaultMaxIterations
	}
	for range most {
		r, err := c.ask(ctx)
		if err != nil {
			return nil, fmt.Errorf("agent %s: model call: %w", c.Name, err)
		}
		if len(r.Calls) == 0 {
			v, problem := c.answer(r.Text)
			if problem.IsZero() {
				return v, nil
			}
			if c.repaired && c.Lenient {
				if v, ok := JSONAnswer(r.Text); ok {
					return v, nil
				}
				return r.Text, nil
			}
			if c.repaired {
				return nil, (&walk.Failure{
					Code:      CodeSchema,
					Permanent: true,
					Detail:    r.Text,
				}).WithMessage("the response of agent %s does not match output_schema: %s", c.Name, problem)
			}
			c.repaired = true
			c.messages = append(
				c.messages,
				llm.Message{Role: llm.RoleAssistant, Text: r.Text},
				llm.Message{
					Role: llm.RoleUser,
					Text: "Your answer does not fit the schema: " + problem.String() + ".\nThe schema: " + jsonvalue.Text(
						c.Schema,
					) + "\nAnswer again with the JSON value alone.",
				},
			)
			continue
		}
		c.messages = append(c.messages, llm.Message{Role: llm.RoleAssistant, Text: r.Text, Calls: r.Calls})
		answers, err := c.callTools(ctx, r.Calls)
		if err != nil {
			return nil, err
		}
		if c.taken {
			return c.out, nil
		}
		c.messages = append(c.messages, answers...)
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
	}
	return nil, (&walk.Failure{
		Code:       CodeIterations,
		Permanent:  true,
		Suggestion: "give the agent fewer tools, a clearer task, or a higher max_iterations",
	}).WithMessage("agent %s: no final answer after %d model calls", c.Name, most)
}

// ask calls the model, or returns the recorded answer.
func (c *conversation) ask(ctx context.Context) (llm.Response, error) {
	c.step++
	if p, ok := c.journal.(Prompter); ok {
		p.Asked(c.step, c.prompt())
	}
	request := llm.Request{Model: c.Model, Messages: c.messages, Tools: c.specs, Schema: c.Schema,
		MaxTokens: c.MaxTokens, Temperature: c.Temperature, Stream: c.Stream}
	if b, ok := c.journal.(Bounder); ok {
		b.Bound(c.step, &request)
	}
	n := c.step
	v, err := c.journal.Do(n, "model", digestOf(c.Model, c.messages), walk.EffectIdempotent, func() (any, llm.Usage, error) {
		r, err := c.provider(n).Complete(ctx, request)
		return recorded(r), r.Usage, err
	})
	if err != nil {
		return llm.Response{}, err
	}
	return responseOf(v), nil
}

// answer returns the result of the conversation, or the problem of the answer.
func (c *conversation) answer(text string) (v any, problem message.Message) {
	if c.schema == nil {
		return text, message.Message{}
	}
	v, ok := JSONAnswer(text)
	if !ok {
		var err error
		if v, err = jsonvalue.Decode([]byte(unfenced(text))); err != nil && c.Product != "" && strings.TrimSpace(text) != "" {
			v = map[string]any{c.Product: text}
		} else if err != nil {
			return nil, message.New("it is not JSON: %s", err)
		}
	}
	if problems := c.schema.Validate(v); len(problems) > 0 {
		return nil, problems[0].Localize()
	}
	return v, message.Message{}
}

// callTools runs calls in parallel. A failed call becomes an answer to the model and does not end
// the loop. If it is unknown whether the call had its effect, the attempt ends in doubt.
func (c *conversation) callTools(ctx context.Context, calls []llm.Call) ([]llm.Message, error) {
	out := make([]llm.Message, len(calls))
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	handed := false
	for i, call := range calls {
		out[i] = llm.Message{Role: llm.RoleTool, CallID: call.ID}
		id := call.Tool + "\x00" + call.Arguments
		c.seen[id]++
		switch {
		case c.seen[id] >= maxIdenticalCalls:
			return nil, (&walk.Failure{
				Code:      CodeLoop,
				Permanent: true,
			}).WithMessage("agent %s repeatedly calls %s with the same arguments", c.Name, call.Tool)
		case i >= maxParallelCalls:
			out[i].Text = fmt.Sprintf("Error: at most %d calls in one turn; ask again for the rest", maxParallelCalls)
			continue
		}
		if call.Tool == HandoffTool && c.Handoff != nil {
			if handed {
				out[i].Text = "Error: one handoff in one turn; ask again for the others"
				continue
			}
			handed = true
		} else {
			c.step++
		}
		n := c.step
		wg.Go(func() {
			text, err := c.callTool(ctx, n, call)
			var f *walk.Failure
			switch {
			case err == nil:
				out[i].Text = text
			case errors.As(err, &f) && f.Code != walk.CodeCancelled && f.Code != walk.CodeTimeout && !lost(f):
				out[i].Text = "Error: " + f.Message
			default:
				errs[i] = err
			}
		})
	}
	wg.Wait()
	return out, errors.Join(errs...)
}

// lost marks failures of unsafe calls without proof that nothing happened.
func lost(f *walk.Failure) bool {
	_, ok := errors.AsType[*lostError](f.Unwrap())
	return ok
}

// InDoubt reports whether a conversation ended because it is unknown whether a tool call had its
// effect.
func InDoubt(err error) bool {
	_, ok := errors.AsType[*lostError](err)
	return ok
}

type lostError struct{ error }

func (c *conversation) callTool(ctx context.Context, n int, call llm.Call) (string, error) {
	if call.Tool == HandoffTool && c.Handoff != nil {
		return c.handOver(ctx, call)
	}
	t := c.tools[call.Tool]
	if t == nil {
		return "", (&walk.Failure{
			Code:      walk.CodeUnknownTool,
			Permanent: true,
			NoEffect:  true,
		}).WithMessage("Tool %q not found", call.Tool)
	}
	args, err := jsonvalue.Decode([]byte(call.Arguments))
	if err != nil {
		return "", (&walk.Failure{
			Code:      walk.CodeInvalidInput,
			Permanent: true,
			NoEffect:  true,
		}).WithMessage("arguments of %s are not JSON: %v", call.Tool, err)
	}
	if c.Approve != nil {
		if err := c.Approve(n, call.Tool, args); err != nil {
			return "", err
		}
	}
	spec := t.Spec()
	effect := spec.Effect
	if spec.EffectOf != nil {
		effect = spec.EffectOf(args)
	}
	if effect == "" {
		effect = walk.EffectUnsafe
	}
	if k, ok := c.journal.(Caller); ok && effect == walk.EffectUnsafe {
		k.Calling(n, args)
	}
	key := ""
	if c.Key != "" {
		key = c.Key + "-" + strconv.Itoa(n)
	}
	v, err := c.journal.Do(n, "tool:"+call.Tool, digestOf(call.Tool, call.Arguments), effect, func() (any, llm.Usage, error) {
		out, err := Invoke(ctx, t, spec, llm.ToolCall{Args: args, IdempotencyKey: key, Log: c.log, Progress: func(int64, int64, string) {}})
		if err == nil {
			return out, llm.Usage{}, nil
		}
		f := walk.AsFailure(err)
		if effect == walk.EffectUnsafe && !f.NoEffect && c.Journal != nil {
			f.WithCause(&lostError{err})
		}
		return nil, llm.Usage{}, f
	})
	if err != nil {
		return "", err
	}
	return jsonvalue.Text(v), nil
}

// handOver hands off work. Its steps are those of the other conversation, so there is nothing to
// record for the handoff itself. At most one runs at a time.
func (c *conversation) handOver(ctx context.Context, call llm.Call) (string, error) {
	args, err := jsonvalue.Decode([]byte(call.Arguments))
	if err != nil {
		return "", (&walk.Failure{
			Code:      walk.CodeInvalidInput,
			Permanent: true,
			NoEffect:  true,
		}).WithMessage("arguments of %s are not JSON: %v", HandoffTool, err)
	}
	answer, final, err := c.Handoff(ctx, args)
	if err != nil {
		return "", err
	}
	if final {
		c.taken, c.out = true, answer
	}
	return jsonvalue.Text(answer), nil
}

func (c *conversation) log(level, message string) {
	if c.Log != nil {
		c.Log(level, message)
	}
}
