package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// maxOutput is the maximum size of an output in a result. Clients pass results to models.
const maxOutput = 64 << 10

// outcome is the state of a run for its caller.
type outcome struct {
	Run        string            `json:"run"`
	Plan       string            `json:"plan"`
	Status     domain.RunStatus  `json:"status"`
	Steps      int64             `json:"steps"`
	Output     domain.RawJSON    `json:"output,omitempty"`
	Truncated  bool              `json:"outputTruncated,omitempty"`
	Error      *domain.RunError  `json:"error,omitempty"`
	WaitReason domain.WaitReason `json:"waitReason,omitempty"`
	WaitingFor []waiting         `json:"waitingFor,omitempty"`
	URL        string            `json:"url,omitempty"`
}

// waiting is what a step waits for.
type waiting struct {
	Reason   domain.WaitReason `json:"reason"`
	Step     string            `json:"step,omitempty"`
	Message  string            `json:"message,omitempty"`
	Approval string            `json:"approval,omitempty"`
	DueAt    time.Time         `json:"dueAt,omitzero"`
}

// outcome returns the result of a call: the output of a run that has ended, or else a handle.
func (c *session) outcome(f app.Facts) *mcp.CallToolResult {
	r := f.Run
	o := outcome{Run: r.ID, Plan: r.PlanKey, Status: r.Status, Steps: r.Steps, URL: c.page("/runs/" + r.ID)}
	switch {
	case r.Status == domain.RunCompleted:
		text := textOf(r.Output)
		if o.Truncated = len(text) > maxOutput; o.Truncated {
			text = strings.ToValidUTF8(text[:maxOutput], "")
		} else {
			o.Output = r.Output
		}
		about := "Run " + r.ID + " completed."
		if o.Truncated {
			about += fmt.Sprintf(" Its output is longer than %d bytes and was cut.%s", maxOutput, seeAlso(o.URL))
		}
		return result(o, about, text)
	case r.Status.Final():
		o.Error = r.Error
		out := result(o, c.failure(f))
		out.IsError = true
		return out
	}
	if r.Status == domain.RunWaiting {
		o.WaitReason = r.WaitReason
	}
	for _, w := range f.Waits {
		o.WaitingFor = append(o.WaitingFor, waiting{w.Reason, w.Node, w.Message, w.Approval, w.Due})
	}
	return result(o, o.handle())
}

// handle describes how to continue with a run that has not ended.
func (o outcome) handle() string {
	text := fmt.Sprintf("Run %s has not ended; its status is %s.", o.Run, o.Status)
	person := o.WaitReason.NeedsPerson()
	for _, w := range o.WaitingFor {
		line := "\nIt waits: " + string(w.Reason)
		if w.Step != "" {
			line += " at step " + w.Step
		}
		if w.Message != "" {
			line += ": " + w.Message
		}
		text += line
		person = person || w.Reason.NeedsPerson()
	}
	if person {
		text += "\nOnly a person can decide this. You cannot." + seeAlso(o.URL)
	}
	return text + "\nTo wait again, call " + awaitTool + " with this run."
}

// failure explains why a run failed or was cancelled.
func (c *session) failure(f app.Facts) string {
	r := f.Run
	text := fmt.Sprintf("Run %s is %s.", r.ID, r.Status)
	if r.Error == nil {
		return text
	}
	if r.Error.Node != "" {
		text += " Step " + r.Error.Node + " failed."
	}
	text += fmt.Sprintf("\n%s (%s)", r.Error.Message, r.Error.Code)
	if advice := domain.SuggestionOf(f.Journal, r.Error.Node); advice != "" {
		text += "\n" + advice
	}
	return text + "\nFor the details, call " + showTool + " with this run."
}

// page returns the address of a page of the dashboard, or "" if it is not known.
func (c *session) page(path string) string {
	if c.base == "" {
		return ""
	}
	return strings.TrimSuffix(c.base, "/") + path
}

func seeAlso(url string) string {
	if url == "" {
		return ""
	}
	return " See " + url
}

// textOf formats an output: a text as it is, and any other value as JSON.
func textOf(output domain.RawJSON) string {
	if v, err := jsonvalue.Decode(output); err == nil {
		return jsonvalue.Text(v)
	}
	return string(output)
}

// result returns a structured result with texts.
func result(structured any, texts ...string) *mcp.CallToolResult {
	r := &mcp.CallToolResult{}
	if structured != nil {
		if v, err := json.Marshal(structured); err == nil { // plain values
			r.StructuredContent = json.RawMessage(v)
		}
	}
	for _, t := range texts {
		r.Content = append(r.Content, &mcp.TextContent{Text: t})
	}
	return r
}

// failed returns a refusal as a result that a model can read. The log has the text of internal errors.
func (c *session) failed(err error) *mcp.CallToolResult {
	if code := domain.CodeOf(err); code == domain.CodeInternal || code == "" {
		c.Log.Error("an operation of an MCP client failed", "client", c.by.Name, "err", err)
		return refused(domain.Errorf(domain.CodeInternal, "internal error; the log of the server has the details"))
	}
	return refused(err)
}

func refused(err error) *mcp.CallToolResult {
	text := err.Error()
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Suggestion != "" {
		text += "\n" + e.Suggestion
	}
	r := result(nil, text)
	r.IsError = true
	return r
}
