package run

import (
	"fmt"
	"net/url"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/run/record"
	"github.com/kairosd/kairosd/web/static"
)

// headPart builds the head of the page, above the views: the state of the run, its problem, and the
// actions.
type headPart struct {
	*record.Record
	asked       []domain.Approval // pending approval requests of the run
	related     int               // number of related runs
	sameFailure string            // summary of other runs of the failure group
	since       string            // summary of the change before the failure
	trouble     []part.Trouble    // causes that still exist
	similar     kit.Link          // link to the runs that failed in the same way
	all         []kit.Link        // bulk actions on these runs
}

func newHead(b *record.Record) (*headPart, error) {
	h := &headPart{Record: b}
	var err error
	if b.Detail.Damage == nil && !b.Detail.Run.Status.Final() { // otherwise no request can be decided
		list, err := b.App.Approvals.List(b.Context, b.Principal.Actor(), domain.ApprovalFilter{Run: b.Detail.Run.ID, Status: "pending"})
		if err != nil {
			return nil, err
		}
		h.asked = list.Items
	}
	related, err := b.Reader.Relatives(b.Context, b.Detail.Run)
	h.related = len(related)
	return h, err
}

// build returns the complete head.
func (b *headPart) build() (Head, error) {
	run := b.Detail.Run
	status := part.Status(b.Context, run)
	h := Head{
		ID:          run.ID,
		Title:       b.titled(status) + " · " + run.PlanKey + " · " + domain.ShortID(run.ID),
		Status:      status,
		Refresh:     b.Refresh(),
		FaviconPath: static.Path("fav-" + favicon(run.Status) + ".svg"),
		Plan:        kit.Link{Text: run.PlanKey, Href: "/plans/" + url.PathEscape(run.PlanKey)},
		Version: kit.Link{
			Text: fmt.Sprintf("v%d", run.Version),
			Href: fmt.Sprintf("/plans/%s/v/%d", url.PathEscape(run.PlanKey), run.Version),
		},
	}
	h.Sub, h.Ended = b.times()
	if b.Detail.Plan != nil {
		h.Answer = kit.Escape(b.Detail.Plan.AggregatedResult)
	}
	var err error
	if h.Why, err = b.why(); err != nil {
		return h, err
	}
	if h.Why != nil {
		if err := b.failureLinks(h.Why); err != nil {
			return h, err
		}
		if run.Status == domain.RunFailed && run.Error != nil && b.Detail.Damage == nil {
			if err := b.failure(h.Why); err != nil {
				return h, err
			}
		}
	}
	if h.Notes, err = part.Notes(b.Context, b.App, run.ID); err != nil {
		return h, err
	}
	h.Undos = undoNotes(b.Context, b.Detail.Undos)
	for _, u := range b.Detail.Undos {
		if !u.Status.Final() {
			h.Topic += " run-" + u.ID
		}
	}
	h.Actions, h.More, h.Summary, h.Facts = b.actions(), b.more(), b.summary(), b.facts()
	h.Primary, h.Actions = b.split(h.Actions)
	if len(b.asked) == 1 && h.Why != nil && h.Why.Headline == kit.Escape(b.asked[0].Message) {
		h.Why = nil // the approval card shows the same message
	}
	return h, nil
}

// times returns a label and the time of the run's end, creation, or start.
func (b *headPart) times() (string, kit.Time) {
	run := b.Detail.Run
	switch {
	case !run.EndedAt.IsZero():
		return b.T("%s, ended", kit.Duration(run.EndedAt.Sub(run.CreatedAt))), b.Time(run.EndedAt)
	case run.Status == domain.RunQueued && run.StartedAt.IsZero():
		return b.T("created"), b.Time(run.CreatedAt)
	}
	return b.T("started"), b.Time(run.CreatedAt)
}

// more returns links to less frequent actions.
func (b *headPart) more() (out []kit.Link) {
	run := b.Detail.Run
	if b.Principal.Role.Includes(domain.RoleOperator) {
		if run.Status == domain.RunFailed && run.Attention {
			out = append(out, kit.Link{Text: b.T("Acknowledge…"), Href: "/runs/" + run.ID + "/ack", Dialog: true})
			if len(b.all) > 1 {
				out = append(out, b.all[1])
			}
		} else {
			out = append(out, kit.Link{Text: b.T("Note…"), Href: "/runs/" + run.ID + "/note", Dialog: true})
			if run.Status == domain.RunFailed {
				out = append(out, kit.Link{Text: b.T("Withdraw the acknowledgment…"), Href: "/runs/" + run.ID + "/unack", Dialog: true})
			}
		}
	}
	if b.Principal.Role.Includes(domain.RoleAuthor) && b.API {
		out = append(out, kit.Link{Text: b.T("Export"), Href: "/runs/" + run.ID + "/export"})
	}
	if b.Principal.Role.Includes(domain.RoleOperator) && run.Status.Final() && run.DeletedAt.IsZero() && b.Detail.Damage == nil {
		out = append(out, kit.Link{Text: b.T("Delete…"), Href: "/runs/" + run.ID + "/delete", Dialog: true, Danger: true})
	}
	return out
}

// split removes a resume from the actions, and returns it as a split button with its variants.
func (b *headPart) split(actions []kit.Link) (*kit.SplitButton, []kit.Link) {
	if len(actions) == 0 || actions[0].Key != "resume" || !b.Resumable() {
		return nil, actions
	}
	main := actions[0]
	main.Icon = "i-play"
	more := append(b.otherResumes(), kit.Link{Text: b.T("With other limits…"), Href: main.Href + "?limits=show", Dialog: true})
	return &kit.SplitButton{Main: main, Label: b.T("Other ways to resume"), ID: "resumes", More: more}, actions[1:]
}
