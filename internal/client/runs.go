package client

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/diff/rundiff"
	"github.com/kairosd/kairosd/internal/domain"
)

// Start starts a run, or returns the run with its idempotency key. The run is durable when Start
// returns. The daemon sets the origin.
func (c *Client) Start(ctx context.Context, r domain.StartRequest) (domain.Run, error) {
	body := apitypes.RunCreate{Plan: r.Plan, Version: r.Version, Hash: r.Hash, Profile: r.Profile, Input: r.Input,
		Priority: r.Priority, Labels: r.Labels, Key: r.Key, StartAt: r.StartAt, Concurrency: r.Concurrency, Session: r.Session,
		DryRun: r.Dry, Offline: r.Offline, Limits: limitsOf(r.Limits)}
	var out apitypes.Run
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/runs", body: body, into: &out})
	run := out.Domain()
	run.Input = r.Input
	return run, err
}

// limitsOf converts limits for a request. It returns nil if there are none.
func limitsOf(l domain.Limits) *domain.LimitsView {
	if l == (domain.Limits{}) {
		return nil
	}
	v := domain.ViewLimits(l)
	return &v
}

// Runs lists runs, newest first. The API does not support IDTail of the filter.
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
	set("text", f.Text)
	if f.Query != "" {
		q = pageQuery(f.Page)
		q.Set("filter", f.Query)
		var out list[apitypes.Run]
		_, err := c.do(ctx, call{method: http.MethodGet, path: "/runs", query: q, into: &out})
		return mapList(out, apitypes.Run.Domain), err
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
	var out list[apitypes.Run]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/runs", query: q, into: &out})
	return mapList(out, apitypes.Run.Domain), err
}

func joined[S ~string](list []S) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return strings.Join(out, ",")
}

func runPath(id string) string { return "/runs/" + url.PathEscape(id) }

// View returns one run with its current result. id may be the beginning or the end of a unique id.
func (c *Client) View(ctx context.Context, id string) (apitypes.RunDetail, error) {
	var out apitypes.RunDetail
	_, err := c.do(ctx, call{method: http.MethodGet, path: runPath(id), into: &out})
	return out, err
}

// FindRun finds a run. id may be the beginning or the end of a unique id.
func (c *Client) FindRun(ctx context.Context, id string) (domain.Run, error) {
	v, err := c.View(ctx, id)
	return v.Domain(), err
}

// Result returns the current result of a run.
func (c *Client) Result(ctx context.Context, run string) (domain.Result, error) {
	v, err := c.View(ctx, run)
	return v.Result(), err
}

// Detail returns a run with its waits and its whole journal.
func (c *Client) Detail(ctx context.Context, run string) (domain.RunDetail, error) {
	v, err := c.View(ctx, run)
	if err != nil {
		return domain.RunDetail{}, err
	}
	journal, err := c.Journal(ctx, v.ID)
	if v.Damage != nil && domain.CodeOf(err) == domain.CodeCorrupt {
		err = nil // the view describes the damage
	}
	return domain.RunDetail{Run: v.Domain(), Waits: v.Waits, BlockedBy: v.BlockedBy, WorkerWaits: v.WorkerWaits, Undos: v.Undos,
		Journal: journal, Damage: v.Damage, Plan: v.RunResult.Result}, err
}

// Journal returns the rows of a run's journal, in order. It returns CodeCorrupt if a row is
// damaged, with the rows before it.
func (c *Client) Journal(ctx context.Context, run string) ([]domain.Entry, error) {
	rows, _, err := c.journal(ctx, run, "", maxJournalPart)
	return rows, err
}

// JournalSince returns the rows of a journal from a page on, and the cursor of the last page, which
// later rows are added to. An empty cursor means the first page. The errors are those of Journal.
func (c *Client) JournalSince(ctx context.Context, run, cursor string) (rows []domain.Entry, last string, err error) {
	return c.journal(ctx, run, cursor, followedPart)
}

// Rows per page: for a whole journal, and for one that is read repeatedly.
const (
	maxJournalPart = 1000
	followedPart   = 200
)

func (c *Client) journal(ctx context.Context, run, cursor string, limit int) (rows []domain.Entry, last string, err error) {
	rows = []domain.Entry{}
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	for {
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		var page struct {
			list[domain.Entry]
			Damage string `json:"damage"`
		}
		if _, err := c.do(ctx, call{method: http.MethodGet, path: runPath(run) + "/journal", query: q, into: &page}); err != nil {
			return rows, cursor, err
		}
		rows = append(rows, page.Items...)
		switch {
		case page.Damage != "":
			return rows, cursor, domain.Errorf(domain.CodeCorrupt, "%s", page.Damage)
		case page.Next == "":
			return rows, cursor, nil
		}
		cursor = page.Next
	}
}

// Standing returns the failure group of a run and its acknowledgment. It is empty if the run has
// not failed.
func (c *Client) Standing(ctx context.Context, run domain.Run) (domain.FailureStatus, error) {
	v, err := c.View(ctx, run.ID)
	return v.FailureStatus, err
}

// AcknowledgeRun acknowledges a failed run. Unless resumeAt is zero, the run is resumed at that
// time.
func (c *Client) AcknowledgeRun(ctx context.Context, run domain.Run, note string, resumeAt time.Time) (domain.Run, error) {
	return c.act(ctx, call{method: http.MethodPost, path: runPath(run.ID) + "/acknowledge", body: struct {
		Note    string    `json:"note,omitempty"`
		StartAt time.Time `json:"startAt,omitzero"`
	}{note, resumeAt}})
}

// UnacknowledgeRun withdraws the acknowledgment of a failed run.
func (c *Client) UnacknowledgeRun(ctx context.Context, id string) (domain.Run, error) {
	return c.act(ctx, call{method: http.MethodPost, path: runPath(id) + "/unacknowledge"})
}

// CompareRuns compares two runs. Without a second run, it uses the last successful run of the same
// plan.
func (c *Client) CompareRuns(ctx context.Context, a, b string) (rundiff.Comparison, error) {
	q := url.Values{"a": {a}}
	if b != "" {
		q.Set("b", b)
	}
	var out rundiff.Comparison
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/run-comparison", query: q, into: &out})
	return out, err
}

// Resolve settles an attempt in doubt.
func (c *Client) Resolve(ctx context.Context, r domain.ResolveRequest) (domain.Run, error) {
	k := call{method: http.MethodPost, path: runPath(r.Run) + "/nodes/" + url.PathEscape(r.Node) + "/resolve",
		body: apitypes.NodeResolve{Visit: r.Visit, Item: &r.Item, Attempt: r.Attempt, Action: r.Action, Output: r.Output, Reason: r.Reason}}
	if r.Rev != 0 {
		k.match = strconv.FormatInt(r.Rev, 10)
	}
	return c.act(ctx, k)
}

// Approvals lists approvals, by default the pending ones.
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
	var out list[apitypes.Approval]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/approvals", query: q, into: &out})
	return mapList(out, apitypes.Approval.Domain), err
}

// Approval returns one approval.
func (c *Client) Approval(ctx context.Context, id string) (domain.Approval, error) {
	var out apitypes.Approval
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/approvals/" + url.PathEscape(id), into: &out})
	return out.Domain(), err
}

// AssignApproval assigns a pending approval request. If its assignee is no longer before, the error
// is CodeStale.
func (c *Client) AssignApproval(ctx context.Context, id, before, assignee, reason string) (domain.Approval, error) {
	path := "/approvals/" + url.PathEscape(id)
	var now, out apitypes.Approval
	tag, err := c.read(ctx, path, &now)
	if err != nil {
		return domain.Approval{}, err
	}
	if now.Assignee != before {
		return now.Domain(), domain.Errorf(domain.CodeConflict, "the request is assigned to %q", now.Assignee).
			Suggest("read it again, then retry")
	}
	_, err = c.do(ctx, call{method: http.MethodPost, path: path + "/assign", match: tag, into: &out,
		body: apitypes.ApprovalAssign{Assignee: assignee, Reason: reason}})
	return out.Domain(), err
}

// Prediction predicts the steps after each answer to a pending approval.
func (c *Client) Prediction(ctx context.Context, id string) ([]domain.Prediction, error) {
	var out list[domain.Prediction]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/approvals/" + url.PathEscape(id) + "/predictions", into: &out})
	return out.Items, err
}

// Decide answers an approval request. Without an answer, it selects the first that approves or
// rejects, as Approve requires.
func (c *Client) Decide(ctx context.Context, r domain.DecideRequest) (domain.Approval, error) {
	path, answer := "/approvals/"+url.PathEscape(r.Approval), r.Answer
	switch {
	case r.RequestChanges:
		answer = string(domain.AnswerRequestChanges)
	case answer == "":
		p, err := c.Approval(ctx, r.Approval)
		if err != nil {
			return p, err
		}
		given, err := p.AnswerOf(r)
		if err != nil {
			return p, err
		}
		answer = given.ID
	}
	var out apitypes.Approval
	_, err := c.do(ctx, call{method: http.MethodPost, path: path + "/decide", into: &out,
		body: apitypes.ApprovalDecide{Answer: answer, Comment: r.Comment, Values: r.Values, Digest: r.Digest}})
	return out.Domain(), err
}
