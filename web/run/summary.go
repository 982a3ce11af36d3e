package run

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/run/events"
	"github.com/kairosd/kairosd/web/run/record"
)

// sameFailureCap is the maximum count of runs with the same failure.
const sameFailureCap = 1000

// summary returns a text for sharing, with local times and UTC. It needs no redaction, because
// secrets are masked before they are stored.
func (b *headPart) summary() string {
	run := b.Detail.Run
	st := part.Status(b.Context, run)
	lines := []string{fmt.Sprintf("%s: %s v%d, run %s", b.T(st.Word), run.PlanKey, run.Version, run.ID)}
	if run.Headline != "" {
		lines = append(lines, part.Headline(b.Context, run))
	}
	if run.Error != nil {
		lines = append(lines, fmt.Sprintf("%s: %s", run.Error.Code, kit.Escape(kit.Truncate(run.Error.Message, 500))))
	}
	around := []string{b.sameFailure, b.since}
	for _, t := range b.trouble {
		around = append(around, t.Text)
	}
	for _, text := range around {
		if text != "" {
			lines = append(lines, text)
		}
	}
	if run.ForkedFrom != "" {
		lines = append(lines, b.T("Forked from")+": "+run.ForkedFrom)
	}
	for _, e := range b.Detail.Journal { // actions of users
		if (e.Kind == domain.EntryReset || e.Kind == domain.EntryResolve) && e.Actor != "" && e.Actor != domain.System.Name {
			t := b.Time(e.At)
			said := strings.TrimSpace(events.Word(b.Record, &e) + " " + e.Node)
			if e.Reason != "" {
				said += ": " + kit.Escape(kit.Truncate(e.Reason, 200))
			}
			lines = append(lines, fmt.Sprintf("%s: %s · %s", t.UTC, kit.Escape(e.Actor), said))
		}
	}
	for _, m := range []struct {
		word string
		at   kit.Time
	}{{b.T("Started"), b.Time(run.CreatedAt)}, {b.T("Ended"), b.Time(run.EndedAt)}} {
		if m.at.UTC != "" {
			lines = append(lines, fmt.Sprintf("%s: %s · %s", m.word, m.at.Title, m.at.UTC))
		}
	}
	scheme := "http://"
	if b.Site.Secure(b.Echo.Request()) {
		scheme = "https://"
	}
	return strings.Join(append(lines, scheme+b.Echo.Request().Host+"/runs/"+run.ID), "\n")
}

// summaryFile handles the download of the summary as Markdown.
func summaryFile(r *record.Request) error {
	found, err := r.Reader.FindRun(r.Context, r.Param("run"))
	if err != nil {
		return err
	}
	run, err := r.Open(found.ID)
	if err != nil {
		return err
	}
	b := &headPart{Record: run}
	if b.Detail.Damage == nil {
		if err := b.failureLinks(&Why{}); err != nil { // the summary includes the failure group
			return err
		}
	}
	return r.Echo.Blob(http.StatusOK, "text/markdown; charset=utf-8", []byte(markdownText.Replace(b.summary())+"\n"))
}

// markdownText escapes HTML in Markdown.
var markdownText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
