// Package approval contains what several sections show of approval requests: a row of a list, and
// the card with the answers.
package approval

import (
	"context"
	"maps"
	"net/url"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/form"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of the package.
type Ports struct {
	Predictions Predictions
	// TwoPeople reports whether the person who started a run may not decide its approval requests.
	TwoPeople func() bool
	// People returns the persons behind an actor's name. For a token, it is the person who created
	// it.
	People func(ctx context.Context, name string) ([]string, error)
}

// Predictions predicts what follows each answer to a pending approval request.
type Predictions interface {
	Prediction(ctx context.Context, approval string) ([]domain.Prediction, error)
}

// startedIt reports whether the user may have started a run, directly or with a token that they
// created. The engine then rejects the user's decision.
func (p Ports) startedIt(c *ui.Context, starter string) (bool, error) {
	if starter == c.Principal.Name {
		return true, nil
	}
	who, err := p.People(c, starter)
	return slices.Contains(who, c.Principal.Name), err
}

// Card returns an approval request as a card or a row.
func (p Ports) Card(c *ui.Context, a domain.Approval) (Card, error) {
	v := Card{
		ID: a.ID, Href: "/approvals/" + a.ID, Action: "/approvals/" + a.ID, Message: kit.Escape(a.Message),
		Since: c.Time(a.CreatedAt), Assignee: kit.Escape(a.Assignee),
		Origin: Origin{
			Run:      domain.ShortID(a.Run),
			RunHref:  "/runs/" + a.Run,
			Plan:     a.PlanKey,
			PlanHref: "/plans/" + url.PathEscape(a.PlanKey),
			Node:     a.Node,
			Agent:    kit.Escape(a.Agent),
		},
		Answering: Answering{
			Digest: a.Digest,
			CSRF:   c.Principal.CSRF,
			Idem:   kit.NewID(),
			MayAsk: a.MayAsk,
			CanAct: c.Principal.Role.Includes(domain.RoleOperator),
			Typed:  c.Field("comment"),
		},
		Decision: Decision{
			Status:    a.Status,
			DecidedBy: kit.Escape(a.DecidedBy),
			Comment:   commentOf(c, a),
			Outcome:   outcomeOf(a),
			Decided:   c.Time(a.DecidedAt),
		},
		Evidence: Evidence{Label: kit.Escape(kit.Truncate(a.Label, 80))},
	}
	first := map[bool]bool{true: true, false: true} // of the rejecting and of the other answers
	for i, x := range a.Answers() {
		b := Answer{ID: x.ID, Label: kit.Escape(kit.Truncate(x.Label, 60)), Rejects: x.Rejects(), Chosen: !x.Rejects() && first[false]}
		if i < len(a.Choices) && a.Choices[i].Label == "" || len(a.Choices) == 0 {
			switch x.ID { // the plan does not name the answer
			case "approve":
				b.Label = c.T("Approve")
			case "reject":
				b.Label = c.T("Reject")
			}
		}
		if first[x.Rejects()] {
			b.Key = "approve"
			if x.Rejects() {
				b.Key = "reject"
			}
			first[x.Rejects()] = false
		}
		v.Answers = append(v.Answers, b)
		if a.Answer == x.ID && len(a.Answers()) > 2 { // with fewer answers, the status shows it
			v.Given = b.Label
		}
	}
	v.By = c.T("step %s", a.Node)
	if a.Agent != "" {
		v.By = c.T("agent %s", v.Agent)
	}
	v.Due, v.HasDeadline = dueWords(c, a), !a.DueAt.IsZero()
	v.StartedBy = kit.Escape(a.StartedBy)
	if p.TwoPeople() && a.StartedBy != "" {
		v.Two = c.T("1 of 2: %s started the run; another user must answer", v.StartedBy)
		var err error
		if v.OwnRun, err = p.startedIt(c, a.StartedBy); err != nil {
			return v, err
		}
		v.OwnToken = v.OwnRun && a.StartedBy != c.Principal.Name
	}
	if a.Tool != "" {
		v.Tool, v.Arguments = a.Tool, kit.Escape(value.Pretty(a.Arguments))
		v.Facts, _ = Facts(a.Arguments, 20)
	}
	if schema := Schema(a); schema != nil {
		v.Fields = form.Fields(c, schema)
	}
	return v, nil
}

// dueWords describes the deadline of an approval request, and what happens then.
func dueWords(c *ui.Context, a domain.Approval) string {
	if a.DueAt.IsZero() {
		return c.T("no deadline")
	}
	if a.Status != "pending" {
		return c.T("until %s, then %s", c.Time(a.DueAt).Text, c.T(a.OnTimeout))
	}
	left := c.Ago(c.Site.Now().Sub(a.DueAt))
	switch a.OnTimeout {
	case "approve":
		return c.T("auto-approve %s", left)
	case "fail":
		return c.T("fails %s", left)
	}
	return c.T("auto-reject %s", left)
}

// commentOf returns the comment of a decision, or the reason why the request was withdrawn when its
// run was quarantined.
func commentOf(c *ui.Context, a domain.Approval) string {
	if !a.Text.IsZero() {
		return c.T("Withdrawn: %s", c.Message(a.Text))
	}
	return kit.Escape(a.Comment)
}

// outcomeOf returns the outcome of an approval request as a status.
func outcomeOf(a domain.Approval) kit.Status {
	switch a.Status {
	case "approved":
		return kit.Word("ok", "i-ok", locale.Mark("approved"), true)
	case "rejected":
		return kit.Word("fail", "i-fail", locale.Mark("rejected"), true)
	case "changes_requested":
		return kit.Word("idle", "i-retry", locale.Mark("changes requested"), true)
	case "expired":
		return kit.Word("idle", "i-wait", locale.Mark("expired"), true)
	case "cancelled":
		return kit.Word("idle", "i-cancel", locale.Mark("cancelled"), true)
	}
	return kit.Word("need", "i-need", locale.Mark("pending"), false)
}

const (
	// factRunes is the maximum length of a value on a card.
	factRunes = 400
	// factsBytes is the maximum size of a JSON value that a card shows as facts. Decoding a larger
	// one takes too long.
	factsBytes = 64 << 10
)

// Facts returns the members of a JSON object as facts, and whether the facts show the complete
// value. There are no facts if the value is not an object, or has more than most members.
func Facts(value domain.RawJSON, most int) (facts []kit.Fact, whole bool) {
	if len(value) == 0 || string(value) == "null" {
		return nil, true
	}
	if len(value) > factsBytes {
		return nil, false
	}
	v, err := jsonvalue.Decode(value)
	if err != nil {
		return nil, false
	}
	m, ok := v.(map[string]any)
	if !ok || len(m) > most {
		return nil, false
	}
	whole = true
	for _, k := range slices.Sorted(maps.Keys(m)) {
		text := jsonvalue.Text(m[k])
		if short := []rune(text); len(short) > factRunes {
			text, whole = string(short[:factRunes])+"…", false
		}
		facts = append(facts, kit.Fact{Term: kit.Escape(k), Text: kit.Escape(text)})
	}
	return facts, whole
}

// Plain reports whether the user can decide the request with one click, without a value, comment,
// or confirmation.
func (v Card) Plain(reader string) bool {
	return v.Status == "pending" && v.CanAct && !v.OwnRun && (v.Assignee == "" || v.Assignee == reader) &&
		v.Label == "" && v.Tool == "" && v.Agent == "" && !v.MayAsk && len(v.Fields) == 0 && len(v.Answers) == 2
}

// Schema returns the schema of the values that an approval requires, or nil.
func Schema(a domain.Approval) any {
	if a.Form == nil {
		return nil
	}
	schema, err := jsonvalue.Decode(a.Form)
	if err != nil {
		return nil
	}
	return schema
}
