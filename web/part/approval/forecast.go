package approval

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// Tail sets the plan version that a planner proposes for the rest of the run, and its reason.
func Tail(c *ui.Context, e *domain.Entry, run domain.Run, v *Card) {
	var p struct {
		Tail *struct {
			Version int
			Reason  string
		}
	}
	if json.Unmarshal(e.Decision, &p) == nil && p.Tail != nil && p.Tail.Version > 0 {
		v.Diff = kit.Link{
			Text: c.T("Changes in version %d", p.Tail.Version),
			Href: fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(run.PlanKey), run.Version, p.Tail.Version),
		}
		v.Why = kit.Escape(kit.Truncate(p.Tail.Reason, 2000))
	}
}

// Prediction adds the predicted effect of each answer.
func (p Ports) Prediction(c *ui.Context, a domain.Approval, v *Card) error {
	list, err := p.Predictions.Prediction(c, a.ID)
	if err != nil && domain.CodeOf(err) != domain.CodeConflict {
		return err
	}
	for _, f := range list {
		v.Predicted = append(v.Predicted, wayOf(c, f, *v))
	}
	return nil
}

// wayOf describes the predicted effect of an answer.
func wayOf(c *ui.Context, f domain.Prediction, v Card) PredictedEffect {
	a := PredictedEffect{Answer: c.T("Request changes")}
	approves := false
	if i := slices.IndexFunc(v.Answers, func(x Answer) bool { return x.ID == f.Answer }); i >= 0 {
		a.Answer, approves = v.Answers[i].Label, !v.Answers[i].Rejects
	}
	names := func(steps []domain.PreviewStep) []string {
		var out []string
		for _, s := range steps[:min(len(steps), 12)] {
			out = append(out, s.Node+" · "+s.Type)
		}
		return out
	}
	switch {
	case f.Note == "tail" && approves:
		a.Text = c.T("The run follows the new version.")
	case f.Note == "tail":
		a.Text = c.T("The step's failure stands.")
	case f.Note == "agent" && f.Answer == "request_changes":
		a.Text = c.T("The agent reads your comment as the tool's result, continues, and may request again.")
	case f.Note == "agent":
		a.Text = c.T("The call is not made. The agent reads the reason and continues.")
	case v.Tool != "" && approves:
		a.Text = c.T("%s is called with exactly these arguments.", v.Tool)
	case len(f.Next) > 0:
		a.Text, a.Steps = c.T("Next:"), names(f.Next)
	case f.Ends == domain.RunFailed:
		a.Text = c.T("The run fails.")
	case f.Ends != "":
		a.Text = c.T("The run ends here.")
	default:
		a.Text = c.T("Nothing new starts. The run waits for its other active steps.")
	}
	for _, e := range f.Effects[:min(len(f.Effects), 12)] {
		a.Effects = append(a.Effects, fmt.Sprintf("%s · %s · %s", e.Node, e.Type, value.Effect(c, e.Effect)))
	}
	return a
}
