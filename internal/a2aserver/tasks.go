package a2aserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

const (
	// skillKey is the key of the metadata of a message that names the skill.
	skillKey = "kairosd/skill"
	// maxKey is the maximum length of the id of a message, which is an idempotency key.
	maxKey = 128
	// maxOutput is the maximum size of an output in an artifact.
	maxOutput = 64 << 10
)

// SendMessage starts the run of a skill. It waits for the run, unless the client does not want to.
func (c *session) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	run, err := c.begin(ctx, req)
	if err != nil {
		return nil, err
	}
	waiting, end := context.WithTimeout(c.ctx, c.Wait)
	defer end()
	if req.Config != nil && req.Config.ReturnImmediately {
		end()
	}
	return c.await(waiting, run.ID, nil)
}

// begin starts the run of a message. A message with the same id returns the same run.
func (c *session) begin(ctx context.Context, req *a2a.SendMessageRequest) (domain.Run, error) {
	m := req.Message
	switch {
	case m == nil || m.ID == "" || len(m.ID) > maxKey || strings.ContainsFunc(m.ID, func(r rune) bool { return r <= ' ' || r > '~' }):
		return domain.Run{}, invalid("a message needs an id of 1 to %d printable ASCII characters without spaces", maxKey)
	case m.TaskID != "":
		return domain.Run{}, fmt.Errorf("a task takes no further messages; a person decides in kairosd: %w", a2a.ErrUnsupportedOperation)
	case req.Config != nil && req.Config.PushConfig != nil:
		return domain.Run{}, a2a.ErrPushNotificationNotSupported
	}
	tool, err := c.skill(ctx, cmp.Or(textOf(m.Metadata[skillKey]), textOf(req.Metadata[skillKey])))
	if err != nil {
		return domain.Run{}, err
	}
	input, err := inputOf(m.Parts, tool.Input)
	if err != nil {
		return domain.Run{}, err
	}
	run, err := c.App.PlanTools.Call(ctx, app.ToolCall{Meta: app.Meta{By: c.by, Key: m.ID}, Tool: tool.Plan.Key, Input: input})
	if err != nil {
		return run, c.failed(err)
	}
	return run, nil
}

func textOf(v any) string {
	s, _ := v.(string)
	return s
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), a2a.ErrInvalidParams)
}

// skill finds the plan that a message names. Without a name, it is the only one that the client may call.
func (c *session) skill(ctx context.Context, name string) (app.PlanTool, error) {
	if name != "" {
		tool, err := c.App.PlanTools.Get(ctx, c.by, name)
		if domain.CodeOf(err) == domain.CodeNotFound {
			return tool, invalid("no skill %.64q", name)
		} else if err != nil {
			return tool, c.failed(err)
		}
		return tool, nil
	}
	list, err := c.App.PlanTools.List(ctx, c.by)
	switch {
	case err != nil:
		return app.PlanTool{}, c.failed(err)
	case len(list) != 1:
		return app.PlanTool{}, invalid("%d skills are available: name one in the metadata of the message, as %s", len(list), skillKey)
	}
	return list[0], nil
}

// inputOf returns the input of a run: the data of a message, or its text. A text for an object is JSON.
func inputOf(parts a2a.ContentParts, schema any) (domain.RawJSON, error) {
	if len(parts) != 1 || parts[0] == nil {
		return nil, invalid("a message needs exactly one part")
	}
	var v any
	switch content := parts[0].Content.(type) {
	case a2a.Text:
		v = string(content)
		if s, isObject := schema.(map[string]any); isObject && s["type"] != "string" {
			if parsed, err := jsonvalue.Decode([]byte(content)); err == nil {
				v = parsed
			}
		}
	case a2a.Data:
		v = content.Value
	default:
		return nil, fmt.Errorf("a part needs data or a text: %w", a2a.ErrUnsupportedContentType)
	}
	raw, err := jsonvalue.Encode(v)
	if err != nil {
		return nil, invalid("the input: %v", err)
	}
	return domain.RawJSON(raw), nil
}

// await waits for a run, and returns it as a task.
func (c *session) await(ctx context.Context, run string, each func(domain.Run)) (*a2a.Task, error) {
	f, err := c.App.PlanTools.Await(ctx, c.by, run, each)
	if err != nil {
		return nil, c.failed(err)
	}
	return c.task(f), nil
}

// task returns a run as a task.
func (c *session) task(f app.Facts) *a2a.Task {
	r := f.Run
	t := &a2a.Task{ID: a2a.TaskID(r.ID), ContextID: cmp.Or(r.Session, r.ID), Status: a2a.TaskStatus{State: stateOf(f)},
		Metadata: map[string]any{skillKey: r.PlanKey}}
	if url := c.page("/runs/" + r.ID); url != "" {
		t.Metadata["kairosd/url"] = url
	}
	if text := statusText(f); text != "" {
		t.Status.Message = a2a.NewMessageForTask(a2a.MessageRoleAgent, t, a2a.NewTextPart(text))
		t.Status.Message.ID = fmt.Sprintf("%s-%d", r.ID, r.LastSeq)
	}
	if r.Status == domain.RunCompleted {
		t.Artifacts = []*a2a.Artifact{{ID: "output", Name: "output", Parts: a2a.ContentParts{outputOf(r)}}}
	}
	return t
}

// stateOf returns the state of a task. A run that waits for a person or for a signal requires input.
func stateOf(f app.Facts) a2a.TaskState {
	switch f.Run.Status {
	case domain.RunQueued:
		return a2a.TaskStateSubmitted
	case domain.RunCompleted:
		return a2a.TaskStateCompleted
	case domain.RunFailed:
		return a2a.TaskStateFailed
	case domain.RunCancelled:
		return a2a.TaskStateCanceled
	}
	reasons := []domain.WaitReason{f.Run.WaitReason}
	for _, w := range f.Waits {
		reasons = append(reasons, w.Reason)
	}
	for _, r := range reasons {
		if r.NeedsPerson() || r == domain.WaitSignal {
			return a2a.TaskStateInputRequired
		}
	}
	return a2a.TaskStateWorking
}

// statusText explains the status of a run.
func statusText(f app.Facts) string {
	r := f.Run
	switch {
	case r.Status == domain.RunCompleted:
		return ""
	case r.Error != nil:
		text := fmt.Sprintf("%s (%s)", r.Error.Message, r.Error.Code)
		if advice := domain.SuggestionOf(f.Journal, r.Error.Node); advice != "" {
			text += "\n" + advice
		}
		return text
	}
	text := r.Headline
	for _, w := range f.Waits {
		text += fmt.Sprintf("\nIt waits: %s at step %s. %s", w.Reason, w.Node, w.Message)
	}
	return strings.TrimSpace(text)
}

// outputOf returns the output of a run: a text, or data. A long output is cut.
func outputOf(r domain.Run) *a2a.Part {
	v, err := jsonvalue.Decode(r.Output)
	text, isText := v.(string)
	if err != nil || len(r.Output) > maxOutput {
		text, isText = string(r.Output), true
	}
	if !isText {
		return a2a.NewDataPart(v)
	}
	if len(text) > maxOutput {
		text = strings.ToValidUTF8(text[:maxOutput], "")
	}
	return a2a.NewTextPart(text)
}

// GetTask returns a run as it is now.
func (c *session) GetTask(_ context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	now, end := context.WithCancel(c.ctx)
	end()
	return c.await(now, string(req.ID), nil)
}

// ListTasks lists the runs that A2A clients started, newest first.
func (c *session) ListTasks(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	limit := cmp.Or(req.PageSize, 50)
	if limit < 1 || limit > 100 {
		return nil, invalid("the size of a page is 1 to 100")
	}
	if req.Status != "" || req.ContextID != "" || req.StatusTimestampAfter != nil {
		return nil, fmt.Errorf("lists have no filters: %w", a2a.ErrUnsupportedOperation)
	}
	list, err := c.App.Runs.List(ctx, c.by, domain.RunFilter{Origins: []string{domain.SourceA2A},
		Page: domain.Page{After: req.PageToken, Limit: limit}})
	if err != nil {
		return nil, c.failed(err)
	}
	out := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, PageSize: limit, NextPageToken: list.Next}
	for _, r := range list.Items {
		out.Tasks = append(out.Tasks, c.task(app.Facts{RunDetail: domain.RunDetail{Run: r}}))
	}
	out.TotalSize = len(out.Tasks)
	return out, nil
}

// CancelTask cancels a run.
func (c *session) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	run, err := c.App.PlanTools.Cancel(ctx, app.CallCancel{Meta: app.Meta{By: c.by}, Run: string(req.ID)})
	if domain.CodeOf(err) == domain.CodeConflict {
		return nil, fmt.Errorf("%s: %w", err.Error(), a2a.ErrTaskNotCancelable)
	} else if err != nil {
		return nil, c.failed(err)
	}
	waiting, end := context.WithTimeout(c.ctx, c.Wait) // running steps stop within seconds
	defer end()
	return c.await(waiting, run.ID, nil)
}

// SendStreamingMessage starts the run of a skill, and reports its progress.
func (c *session) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		run, err := c.begin(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		c.follow(ctx, run.ID, yield)
	}
}

// SubscribeToTask reports the progress of a run.
func (c *session) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { c.follow(ctx, string(req.ID), yield) }
}

// follow yields a run as a task, its status after steps have settled, its output, and its last status. The
// stream also ends if the run waits for a person, or the request has been open for long. The client can
// subscribe again.
func (c *session) follow(ctx context.Context, run string, yield func(a2a.Event, error) bool) {
	first, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: a2a.TaskID(run)})
	if err != nil {
		yield(nil, err)
		return
	}
	if !yield(first, nil) || first.Status.State.Terminal() {
		return
	}
	waiting, end := context.WithCancel(c.ctx)
	defer end()
	defer context.AfterFunc(ctx, end)()
	type ended struct {
		task *a2a.Task
		err  error
	}
	progress, done := make(chan domain.Run), make(chan ended, 1)
	go func() {
		task, err := c.await(waiting, run, func(r domain.Run) {
			select {
			case progress <- r:
			case <-waiting.Done():
			}
		})
		done <- ended{task, err}
	}()
	for {
		select {
		case r := <-progress:
			e := a2a.NewStatusUpdateEvent(first, a2a.TaskStateWorking, a2a.NewMessageForTask(a2a.MessageRoleAgent, first,
				a2a.NewTextPart(cmp.Or(r.Headline, string(r.Status)))))
			if !yield(e, nil) {
				end()
			}
			if waiting.Err() != nil {
				<-done
				return
			}
		case d := <-done:
			c.last(d.task, d.err, yield)
			return
		}
	}
}

// last yields the output and the last status of a task.
func (c *session) last(task *a2a.Task, err error, yield func(a2a.Event, error) bool) {
	if err != nil {
		yield(nil, err)
		return
	}
	for _, a := range task.Artifacts {
		if !yield(&a2a.TaskArtifactUpdateEvent{TaskID: task.ID, ContextID: task.ContextID, Artifact: a, LastChunk: true}, nil) {
			return
		}
	}
	e := a2a.NewStatusUpdateEvent(task, task.Status.State, task.Status.Message)
	e.Metadata = task.Metadata
	yield(e, nil)
}

var errNoPush = errors.New("subscribe to the task instead")

// GetTaskPushConfig is not supported.
func (c *session) GetTaskPushConfig(context.Context, *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return nil, errors.Join(errNoPush, a2a.ErrPushNotificationNotSupported)
}

// ListTaskPushConfigs is not supported.
func (c *session) ListTaskPushConfigs(context.Context, *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	return nil, errors.Join(errNoPush, a2a.ErrPushNotificationNotSupported)
}

// CreateTaskPushConfig is not supported.
func (c *session) CreateTaskPushConfig(context.Context, *a2a.PushConfig) (*a2a.PushConfig, error) {
	return nil, errors.Join(errNoPush, a2a.ErrPushNotificationNotSupported)
}

// DeleteTaskPushConfig is not supported.
func (c *session) DeleteTaskPushConfig(context.Context, *a2a.DeleteTaskPushConfigRequest) error {
	return errors.Join(errNoPush, a2a.ErrPushNotificationNotSupported)
}

// GetExtendedAgentCard returns the card, whose skills are those that the principal may call.
func (c *session) GetExtendedAgentCard(ctx context.Context, _ *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	card, err := c.card(ctx)
	if err != nil {
		return nil, c.failed(err)
	}
	return card, nil
}
