package web

import (
	"net/url"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/part/failure"
)

// ackAll asks for one note about all failures that home lists.
func (r *request) ackAllForm() (failure.AckPage, error) {
	groups, err := r.s.App.Failures.List(r.ctx, r.who.actor(), homeGroups)
	if err != nil {
		return failure.AckPage{}, err
	}
	var p failure.AckPage
	for _, g := range groups {
		p.Groups = append(p.Groups, failure.AckGroup{Ref: failure.Query(g.Ref()), Text: r.t("%s at %s of %s", visible(g.Code), visible(g.Node), visible(g.PlanKey)) + ", " + r.n(int(g.Runs), "%s run", "%s runs"), Says: cut(r.failureLine(g.Headline), 200)})
	}
	if len(p.Groups) == 0 {
		return p, domain.Errorf(domain.CodeConflict, "no failure needs attention any more").Suggest("somebody else took note of them, or the runs were resumed")
	}
	p.Heading = r.n(len(p.Groups), "Acknowledge %s failure", "Acknowledge %s failures")
	p.Button = p.Heading
	return p, nil
}

// ackChosen takes note of the failures that a form names; one that is over by
// now is no reason to leave the others.
func (r *request) ackChosen(refs []string, note string) error {
	if len(refs) > homeGroups {
		return domain.Errorf(domain.CodeInvalid, "one form takes note of at most %d failures", homeGroups)
	}
	var done int
	var last error
	for _, ref := range refs {
		v, err := url.ParseQuery(ref)
		if err != nil {
			return domain.Errorf(domain.CodeInvalid, "the form names no failure: %w", err)
		}
		req := app.FailureChange{Meta: r.meta(), FailureRef: domain.FailureRef{PlanKey: v.Get("plan"), Node: v.Get("node"), Code: v.Get("code"), Alike: v.Get("alike")}, Note: note}
		if req.Key != "" {
			req.Key += " " + ref
		}
		_, err = r.s.App.Failures.Acknowledge(r.ctx, req)
		switch domain.CodeOf(err) {
		case "":
			done++
		case domain.CodeConflict, domain.CodeNotFound:
			last = err
		default:
			return err
		}
	}
	if done == 0 && last != nil {
		return last
	}
	return nil
}
