package runs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

// peek serves the preview of a run.
func (s *section) peek(c *ui.Context) error {
	run, err := s.Reader.FindRun(c, c.Param("run"))
	if err != nil {
		return err
	}
	p := RunPeek{Shell: c.Shell("runs", run.PlanKey+" · "+domain.ShortID(run.ID)), Row: s.rows.Of(c, []domain.Run{run})[0], Span: "7",
		Facts: peekFacts(c, run), Actions: peekActions(c, run)}
	if n, err := strconv.Atoi(c.Query("span")); err == nil && n > 0 && n < 30 {
		p.Span = strconv.Itoa(n)
	}
	if run.Error != nil {
		p.Error = kit.Escape(run.Error.Message)
	}
	if p.Terms, err = s.peekTerms(c, run); err != nil {
		return err
	}
	if p.Log, err = s.lastLog(c, run); err != nil {
		return err
	}
	if c.HTMX() {
		return c.Render(http.StatusOK, PeekRow(p))
	}
	return c.Render(http.StatusOK, Peek(p))
}

// peekTerms returns terms of the filter that select runs like this one.
func (s *section) peekTerms(c *ui.Context, run domain.Run) (terms []kit.Link, err error) {
	q := c.Query("q")
	if _, problem := filter.Parse(q, time.Now()); problem != nil {
		q = ""
	}
	add := func(key, value string) {
		if value != "" {
			l := narrow(c, q, key, value)
			l.Text = kit.Escape(key + ":" + value)
			terms = append(terms, l)
		}
	}
	add("plan", run.PlanKey)
	add("step", run.Node)
	if run.Error != nil {
		add("error", run.Error.Code)
	}
	used, err := s.Reader.Uses(c, run.ID)
	for _, u := range used {
		add(u.Kind, u.Name)
	}
	add("by", run.Actor)
	return terms, err
}

// peekFacts returns facts about a run.
func peekFacts(c *ui.Context, run domain.Run) []kit.Fact {
	facts := []kit.Fact{{Term: c.T("Steps"), Text: c.Number(run.Steps)}}
	if !run.EndedAt.IsZero() {
		facts = append(facts, kit.Fact{Term: c.T("Ended"), Text: c.Time(run.EndedAt).Text})
	}
	if run.Usage.Cost > 0 {
		facts = append(facts, kit.Fact{Term: c.T("Cost"), Text: money(c, run.Usage.Cost)})
	}
	if run.ForkedFrom != "" {
		facts = append(facts, kit.Fact{Term: c.T("Forked from"), Text: domain.ShortID(run.ForkedFrom), Href: "/runs/" + run.ForkedFrom})
	}
	return facts
}

// peekActions returns the actions that the user may perform on a run.
func peekActions(c *ui.Context, run domain.Run) (actions []kit.Link) {
	if !c.Principal.Role.Includes(domain.RoleOperator) {
		return nil
	}
	add := func(text, verb string) {
		actions = append(actions, kit.Link{Text: text, Href: "/runs/" + run.ID + "/" + verb})
	}
	switch {
	case run.Status == domain.RunFailed || run.Status == domain.RunCancelled:
		add(c.T("Resume…"), "resume")
		if run.Undoes == "" {
			add(c.T("Rerun…"), "rerun")
		}
		if run.Status == domain.RunFailed && run.Attention {
			add(c.T("Acknowledge…"), "ack")
		}
		return actions
	case run.Status == domain.RunCompleted:
		if run.Undoes == "" {
			add(c.T("Rerun…"), "rerun")
		}
		return actions
	case part.Scheduled(c, run):
		add(c.T("Start now"), "start-now")
	case run.WaitReason == domain.WaitRetry:
		add(c.T("Retry now"), "retry-now")
	}
	add(c.T("Cancel…"), "cancel")
	return actions
}

// peekLines is the maximum number of log lines in a preview.
const peekLines = 6

// lastLog returns the last log lines of a run.
func (s *section) lastLog(c *ui.Context, run domain.Run) ([]string, error) {
	rows, err := s.Reader.JournalPage(c, run.ID, max(0, run.LastSeq-20), 20)
	if err != nil && domain.CodeOf(err) != domain.CodeCorrupt { // the page of the run reports damaged journals
		return nil, err
	}
	var out []string
	for _, e := range rows {
		var lines []struct {
			Level   string `json:"level"`
			Message string `json:"message"`
		}
		if len(e.Log) == 0 || json.Unmarshal(e.Log, &lines) != nil {
			continue
		}
		for _, l := range lines {
			out = append(out, fmt.Sprintf("%s %s: %.400s", l.Level, e.Node, kit.Escape(l.Message)))
		}
	}
	return out[max(0, len(out)-peekLines):], nil
}
