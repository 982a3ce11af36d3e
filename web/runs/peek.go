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
	p := RunPeek{Shell: c.Shell("runs", run.PlanKey+" · "+domain.ShortID(run.ID)), Row: s.rows.Of(c, []domain.Run{run})[0], Span: "7"}
	if n, err := strconv.Atoi(c.Query("span")); err == nil && n > 0 && n < 30 {
		p.Span = strconv.Itoa(n)
	}
	q := c.Query("q")
	if _, problem := filter.Parse(q, time.Now()); problem != nil {
		q = ""
	}
	add := func(key, value string) {
		if value != "" {
			l := narrow(c, q, key, value)
			l.Text = kit.Escape(key + ":" + value)
			p.Terms = append(p.Terms, l)
		}
	}
	add("plan", run.PlanKey)
	add("step", run.Node)
	if run.Error != nil {
		p.Error = kit.Escape(run.Error.Message)
		add("error", run.Error.Code)
	}
	used, err := s.Reader.Uses(c, run.ID)
	if err != nil {
		return err
	}
	for _, u := range used {
		add(u.Kind, u.Name)
	}
	add("by", run.Actor)
	if p.Log, err = s.lastLog(c, run); err != nil {
		return err
	}
	fact := func(term, text, href string) {
		if text != "" {
			p.Facts = append(p.Facts, kit.Fact{Term: term, Text: text, Href: href})
		}
	}
	fact(c.T("Steps"), c.Number(run.Steps), "")
	if !run.EndedAt.IsZero() {
		fact(c.T("Ended"), c.Time(run.EndedAt).Text, "")
	}
	if run.Usage.Cost > 0 {
		fact(c.T("Cost"), money(c, run.Usage.Cost), "")
	}
	if run.ForkedFrom != "" {
		fact(c.T("Forked from"), domain.ShortID(run.ForkedFrom), "/runs/"+run.ForkedFrom)
	}
	if c.Principal.Role.Includes(domain.RoleOperator) {
		act := func(text, verb string) {
			p.Actions = append(p.Actions, kit.Link{Text: text, Href: "/runs/" + run.ID + "/" + verb})
		}
		switch {
		case run.Status == domain.RunFailed || run.Status == domain.RunCancelled:
			act(c.T("Resume…"), "resume")
			act(c.T("Rerun…"), "rerun")
			if run.Status == domain.RunFailed && run.Attention {
				act(c.T("Acknowledge…"), "ack")
			}
		case run.Status == domain.RunCompleted:
			act(c.T("Rerun…"), "rerun")
		default:
			switch {
			case part.Scheduled(c, run):
				act(c.T("Start now"), "start-now")
			case run.WaitReason == domain.WaitRetry:
				act(c.T("Retry now"), "retry-now")
			}
			act(c.T("Cancel…"), "cancel")
		}
	}
	if c.HTMX() {
		return c.Render(http.StatusOK, PeekRow(p))
	}
	return c.Render(http.StatusOK, Peek(p))
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
