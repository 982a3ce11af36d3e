package client

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/diff/rundiff"
	"github.com/kairosd/kairosd/internal/domain"
)

type startWire struct {
	Plan        string              `json:"plan"`
	Version     int                 `json:"version,omitempty"`
	Hash        string              `json:"hash,omitempty"`
	Input       domain.RawJSON      `json:"input,omitempty"`
	Priority    int                 `json:"priority,omitempty"`
	Labels      map[string]string   `json:"labels,omitempty"`
	Limits      *domain.LimitsView  `json:"limits,omitempty"`
	Key         string              `json:"key,omitempty"`
	StartAt     time.Time           `json:"startAt,omitzero"`
	Concurrency *domain.Concurrency `json:"concurrency,omitempty"`
	Session     string              `json:"session,omitempty"`
	DryRun      bool                `json:"dryRun,omitempty"`
	Offline     bool                `json:"offline,omitempty"`
}

// Start starts a run, or finds that of its key; it returns once the run is
// durable. The daemon sets the origin.
func (c *Client) Start(ctx context.Context, r domain.StartRequest) (domain.Run, error) {
	w := startWire{Plan: r.Plan, Version: r.Version, Hash: r.Hash, Input: r.Input, Priority: r.Priority, Labels: r.Labels,
		Key: r.Key, StartAt: r.StartAt, Concurrency: r.Concurrency, Session: r.Session, DryRun: r.Dry, Offline: r.Offline}
	if r.Limits != (domain.Limits{}) {
		v := domain.ViewLimits(r.Limits)
		w.Limits = &v
	}
	var out struct {
		RunID  string           `json:"runId"`
		Status domain.RunStatus `json:"status"`
	}
	if _, err := c.do(ctx, call{method: http.MethodPost, path: "/runs", body: w, into: &out}); err != nil {
		return domain.Run{}, err
	}
	run, err := c.FindRun(ctx, out.RunID)
	if err != nil { // started all the same: say what is known
		run = domain.Run{ID: out.RunID, Status: out.Status, PlanKey: r.Plan, Labels: r.Labels, Key: r.Key, Input: r.Input}
	}
	return run, nil
}

// Runs lists runs, newest first. The filter's IDTail cannot be asked for.
func (c *Client) Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error) {
	q := pageQuery(f.Page)
	set := func(k, v string) {
		if v != "" {
			q.Set(k, v)
		}
	}
	set("status", joined(f.Statuses))
	set("wait", joined(f.WaitReasons))
	set("plan", f.PlanKey)
	set("node", f.Node)
	set("error", f.ErrorCode)
	set("actor", f.Actor)
	set("parent", f.Parent)
	set("related", f.RelatedTo)
	set("q", f.Text)
	if f.Query != "" {
		q = pageQuery(f.Page)
		q.Set("filter", f.Query)
		var out list[domain.RunView]
		_, err := c.do(ctx, call{method: http.MethodGet, path: "/runs", query: q, into: &out})
		return mapList(out, domain.RunView.Run), err
	}
	for k, on := range map[string]bool{"attention": f.NeedsAttention, "deleted": f.Deleted} {
		if on {
			q.Set(k, "true")
		}
	}
	if f.Version > 0 {
		q.Set("version", strconv.Itoa(f.Version))
	}
	for k, t := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !t.IsZero() {
			q.Set(k, t.UTC().Format(time.RFC3339Nano))
		}
	}
	for k, v := range f.Labels {
		q.Add("label", k+"="+v)
	}
	slices.Sort(q["label"]) // a cursor belongs to one exact query
	var out list[domain.RunView]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/runs", query: q, into: &out})
	return mapList(out, domain.RunView.Run), err
}

func joined[S ~string](list []S) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return strings.Join(out, ",")
}

func runPath(id string) string { return "/runs/" + url.PathEscape(id) }

// View gives one run with its result so far, by id or by any part that its id
// alone begins or ends with.
func (c *Client) View(ctx context.Context, id string) (domain.RunDetailView, error) {
	var out domain.RunDetailView
	_, err := c.do(ctx, call{method: http.MethodGet, path: runPath(id), into: &out})
	return out, err
}

// FindRun finds a run by id or by any part that its id alone begins or ends with.
func (c *Client) FindRun(ctx context.Context, id string) (domain.Run, error) {
	v, err := c.View(ctx, id)
	return v.Run(), err
}

// Result is what a run has come to so far.
func (c *Client) Result(ctx context.Context, run string) (domain.Result, error) {
	v, err := c.View(ctx, run)
	return v.Result, err
}

// Detail is a run with its waits and its whole journal.
func (c *Client) Detail(ctx context.Context, run string) (domain.RunDetail, error) {
	v, err := c.View(ctx, run)
	if err != nil {
		return domain.RunDetail{}, err
	}
	journal, err := c.JournalPage(ctx, v.RunID, 0, 0)
	if v.Damage != nil && domain.CodeOf(err) == domain.CodeCorrupt {
		err = nil // the view says so
	}
	return domain.RunDetail{Run: v.Run(), Waits: v.Waits, Journal: journal, Damage: v.Damage, Plan: v.Result.Result}, err
}

// JournalPage gives rows of a run's journal after a sequence number, in order,
// at most limit (0: all). CodeCorrupt when the next row is damaged; the rows before
// it are given with the error.
func (c *Client) JournalPage(ctx context.Context, run string, after int64, limit int) ([]domain.Entry, error) {
	rows := []domain.Entry{}
	for {
		var part struct {
			Items  []domain.Entry `json:"items"`
			Next   *int64         `json:"next"`
			Damage string         `json:"damage"`
		}
		q := url.Values{"after": {strconv.FormatInt(after, 10)}}
		if limit > 0 {
			q.Set("limit", strconv.Itoa(min(limit-len(rows), maxJournalPart)))
		}
		if _, err := c.do(ctx, call{method: http.MethodGet, path: runPath(run) + "/journal", query: q, into: &part}); err != nil {
			return nil, err
		}
		rows = append(rows, part.Items...)
		if part.Damage != "" {
			return rows, domain.Errorf(domain.CodeCorrupt, "%s", part.Damage)
		}
		if part.Next == nil || *part.Next <= after || limit > 0 && len(rows) >= limit {
			return rows, nil
		}
		after = *part.Next
	}
}

const maxJournalPart = 1000

// Standing says where the failure of a run stands; nothing of one that has not
// failed.
func (c *Client) Standing(ctx context.Context, run domain.Run) (domain.Standing, error) {
	v, err := c.View(ctx, run.ID)
	return v.Standing, err
}

// TakeNote acknowledges a failed run, and has it resumed at a time unless that is
// zero.
func (c *Client) TakeNote(ctx context.Context, run domain.Run, note string, resumeAt time.Time) (domain.Run, error) {
	var out domain.RunView
	_, err := c.do(ctx, call{method: http.MethodPost, path: runPath(run.ID) + "/acknowledge", into: &out, body: struct {
		Note     string    `json:"note,omitempty"`
		ResumeAt time.Time `json:"resumeAt,omitzero"`
	}{note, resumeAt}})
	return out.Run(), err
}

// UnacknowledgeRun withdraws the acknowledgment of a failed run.
func (c *Client) UnacknowledgeRun(ctx context.Context, id string) (domain.Run, error) {
	var out domain.RunView
	_, err := c.do(ctx, call{method: http.MethodPost, path: runPath(id) + "/unacknowledge", into: &out})
	return out.Run(), err
}

// CompareRuns puts two runs side by side; without a second one it is the last of
// the same plan that went well.
func (c *Client) CompareRuns(ctx context.Context, a, b string) (rundiff.Comparison, error) {
	q := url.Values{"a": {a}}
	if b != "" {
		q.Set("b", b)
	}
	var out rundiff.Comparison
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/run-comparison", query: q, into: &out})
	return out, err
}

// actWire holds the fields of every act; each sends only those that it takes.
type actWire struct {
	Action    domain.Action              `json:"action,omitempty"`
	Reason    string                     `json:"reason,omitempty"`
	Rev       int64                      `json:"rev,omitempty"`
	Digest    string                     `json:"digest,omitempty"`
	At        int64                      `json:"at,omitempty"`
	Edits     map[string]domain.RawJSON  `json:"edits,omitempty"`
	Instead   map[string]domain.Override `json:"instead,omitempty"`
	Only      string                     `json:"only,omitempty"`
	TimeoutMs int64                      `json:"timeoutMs,omitempty"`
	Attempts  int                        `json:"attempts,omitempty"`
	Input     domain.RawJSON             `json:"input,omitempty"`
	Version   int                        `json:"version,omitempty"`
	Labels    map[string]string          `json:"labels,omitempty"`
	domain.LimitsView
	Raise *domain.LimitsView `json:"raise,omitempty"`
}

func wireOf(r domain.ActionRequest) actWire {
	switch r.Action {
	case domain.ActionResume, domain.ActionRerun, domain.ActionFork:
	default: // the others name what was seen by its revision only
		r.Digest = ""
	}
	var raise *domain.LimitsView
	if r.Raise != (domain.Limits{}) {
		v := domain.ViewLimits(r.Raise)
		raise = &v
	}
	return actWire{
		Raise:      raise,
		Reason:     r.Reason,
		Rev:        r.Rev,
		Digest:     r.Digest,
		At:         r.At,
		Edits:      r.Edits,
		Instead:    r.Instead,
		Only:       r.Only,
		TimeoutMs:  r.Timeout.Milliseconds(),
		Attempts:   r.Attempts,
		Input:      r.Input,
		Version:    r.Version,
		Labels:     r.Labels,
		LimitsView: domain.ViewLimits(r.Limits),
	}
}

// Act does what a ActionRequest asks and returns the run it is about: the same,
// or the new one of a rerun or fork. A deleted run comes back empty but for its id.
func (c *Client) Act(ctx context.Context, r domain.ActionRequest) (domain.Run, error) {
	out := domain.RunView{RunID: r.Run}
	if r.Action == domain.ActionDelete {
		q := url.Values{}
		if r.Reason != "" {
			q.Set("reason", r.Reason)
		}
		if r.Rev != 0 {
			q.Set("rev", strconv.FormatInt(r.Rev, 10))
		}
		_, err := c.do(ctx, call{method: http.MethodDelete, path: runPath(r.Run), query: q})
		return out.Run(), err
	}
	_, err := c.do(
		ctx,
		call{method: http.MethodPost, path: runPath(r.Run) + "/" + url.PathEscape(r.Action.Path()), body: wireOf(r), into: &out},
	)
	return out.Run(), err
}

// Preview says what an act would do.
func (c *Client) Preview(ctx context.Context, r domain.ActionRequest) (domain.Preview, error) {
	var out domain.Preview
	k := call{method: http.MethodGet, path: runPath(r.Run) + "/preview", into: &out}
	if len(r.Edits) > 0 || len(r.Instead) > 0 || r.Input != nil || r.Only != "" || r.Timeout != 0 || r.Attempts != 0 {
		w := wireOf(r)
		w.Action = r.Action
		k.method, k.body = http.MethodPost, w
	} else {
		k.query = url.Values{"action": {string(r.Action)}}
		if r.At != 0 {
			k.query.Set("at", strconv.FormatInt(r.At, 10))
		}
		if r.Version != 0 {
			k.query.Set("version", strconv.Itoa(r.Version))
		}
	}
	_, err := c.do(ctx, k)
	return out, err
}

// Resolve settles an attempt in doubt.
func (c *Client) Resolve(ctx context.Context, r domain.ResolveRequest) (domain.Run, error) {
	var out domain.RunView
	_, err := c.do(
		ctx,
		call{method: http.MethodPost, path: runPath(r.Run) + "/nodes/" + url.PathEscape(r.Node) + "/resolve", body: r, into: &out},
	)
	return out.Run(), err
}

type approvalWire struct {
	ID        string          `json:"id"`
	Run       string          `json:"run"`
	Plan      string          `json:"plan"`
	Node      string          `json:"node"`
	Visit     int             `json:"visit"`
	Item      int             `json:"item"`
	Message   string          `json:"message"`
	Form      domain.RawJSON  `json:"form"`
	Digest    string          `json:"digest"`
	Status    string          `json:"status"`
	OnTimeout string          `json:"onTimeout"`
	Tool      string          `json:"tool"`
	Arguments domain.RawJSON  `json:"arguments"`
	DueAt     time.Time       `json:"dueAt"`
	CreatedAt time.Time       `json:"createdAt"`
	StartedBy string          `json:"startedBy"`
	DecidedAt time.Time       `json:"decidedAt"`
	DecidedBy string          `json:"decidedBy"`
	Comment   string          `json:"comment"`
	Values    domain.RawJSON  `json:"values"`
	Agent     string          `json:"agent"`
	MayAsk    bool            `json:"mayAsk"`
	Label     string          `json:"label"`
	Answers   []domain.Answer `json:"answers"`
	Answer    string          `json:"answer"`
	Assignee  string          `json:"assignee"`
}

func (w approvalWire) approval() domain.Approval {
	return domain.Approval{
		ID: w.ID, Run: w.Run, PlanKey: w.Plan, Node: w.Node, Visit: w.Visit, Item: w.Item, Message: w.Message, Form: w.Form,
		Tool: w.Tool, Arguments: w.Arguments, Digest: w.Digest, Status: w.Status, OnTimeout: w.OnTimeout, DueAt: w.DueAt,
		CreatedAt: w.CreatedAt, StartedBy: w.StartedBy, Agent: w.Agent, MayAsk: w.MayAsk, Label: w.Label,
		Choices: w.Answers, Assignee: w.Assignee,
		ApprovalDecision: domain.ApprovalDecision{
			DecidedAt: w.DecidedAt,
			DecidedBy: w.DecidedBy,
			Comment:   w.Comment,
			Values:    w.Values,
			Answer:    w.Answer,
		},
	}
}

// Approvals lists approvals, open ones unless the filter says otherwise.
func (c *Client) Approvals(ctx context.Context, f domain.ApprovalFilter) (domain.List[domain.Approval], error) {
	q := pageQuery(f.Page)
	if f.Status != "" {
		q.Set("status", f.Status)
	}
	if f.Decided {
		q.Set("status", "decided")
	}
	for k, v := range map[string]string{"run": f.Run, "plan": f.Plan, "agent": f.Agent, "for": f.For, "assignee": f.Assignee} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if !f.Overdue.IsZero() {
		q.Set("overdue", "true")
	}
	var out list[approvalWire]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/approvals", query: q, into: &out})
	return mapList(out, approvalWire.approval), err
}

// Approval gives one approval.
func (c *Client) Approval(ctx context.Context, id string) (domain.Approval, error) {
	var out approvalWire
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/approvals/" + url.PathEscape(id), into: &out})
	return out.approval(), err
}

// AssignApproval says who is to answer an open approval.
func (c *Client) AssignApproval(ctx context.Context, id, before, assignee, reason string) (domain.Approval, error) {
	var out approvalWire
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/approvals/" + url.PathEscape(id) + "/assign", into: &out,
		body: map[string]string{"assignee": assignee, "before": before, "reason": reason}})
	return out.approval(), err
}

// Prediction says where each answer to an open approval leads.
func (c *Client) Prediction(ctx context.Context, id string) ([]domain.Prediction, error) {
	var out list[domain.Prediction]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/approvals/" + url.PathEscape(id) + "/forecast", into: &out})
	return out.Items, err
}

// Decide answers an approval.
func (c *Client) Decide(ctx context.Context, r domain.DecideRequest) (domain.Approval, error) {
	body := struct {
		domain.DecideRequest
		Approve *bool `json:"approve,omitempty"`
	}{DecideRequest: r}
	if r.Answer == "" && !r.AskBack {
		body.Approve = &r.Approve
	}
	var out approvalWire
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/approvals/" + url.PathEscape(r.Approval) + "/decide", body: body, into: &out})
	return out.approval(), err
}
