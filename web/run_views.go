package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/view"
)

func stepName(node string, visit int) string {
	if visit > 1 {
		return fmt.Sprintf("%s#%d", node, visit)
	}
	return node
}

// cut shortens a text at a rune, saying so.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// alike counts the failed runs that failed as this one did.
const alikeCap = 1000

// whyLinks are what to look at beside a failure: the same one in other runs, and
// the last run that went well.
func (b *runPage) whyLinks() ([]view.Link, error) {
	run := b.d.Run
	if run.Status != kairos.RunFailed || run.Error == nil {
		return nil, nil
	}
	var out []view.Link
	q := fmt.Sprintf("status:failed plan:%s node:%s error:%s", filter.Quote(run.PlanKey), filter.Quote(run.Error.Node), filter.Quote(run.Error.Code))
	n, err := b.s.Reader.RunsCount(b.ctx, kairos.RunFilter{Statuses: []kairos.RunStatus{kairos.RunFailed}, PlanKey: run.PlanKey, Node: run.Error.Node, ErrorCode: run.Error.Code}, alikeCap)
	if err != nil {
		return nil, err
	}
	if n > 1 {
		out = append(out, view.Link{Text: b.n(n, "Same failure: %s run", "Same failure: %s runs"), Href: "/runs?q=" + url.QueryEscape(q)})
	}
	good, err := b.lastGood(run)
	if err != nil {
		return nil, err
	}
	if good.ID != "" {
		out = append(out, view.Link{Text: b.t("Compare with the last success"), Href: "/runs/compare?" + url.Values{"a": {run.ID}, "b": {good.ID}}.Encode()})
	}
	return out, nil
}

// summary is a text to send on, with times in both forms; secrets were masked
// before anything was stored.
func (b *runPage) summary() string {
	run := b.d.Run
	st := runStatus(run.Status, run.WaitReason)
	lines := []string{fmt.Sprintf("%s: %s v%d, run %s", b.t(st.Word), run.PlanKey, run.Version, run.ID)}
	if run.Headline != "" {
		lines = append(lines, visible(run.Headline))
	}
	if run.Error != nil {
		lines = append(lines, fmt.Sprintf("%s: %s", run.Error.Code, visible(cut(run.Error.Message, 500))))
	}
	for _, m := range []struct {
		word string
		at   view.Time
	}{{b.t("Started"), b.time(run.CreatedAt)}, {b.t("Ended"), b.time(run.EndedAt)}} {
		if m.at.UTC != "" {
			lines = append(lines, fmt.Sprintf("%s: %s · %s", m.word, m.at.Title, m.at.UTC))
		}
	}
	scheme := "http://"
	if b.s.secure(b.c.Request()) {
		scheme = "https://"
	}
	return strings.Join(append(lines, scheme+b.c.Request().Host+"/runs/"+run.ID), "\n")
}

// summaryFile is the summary as a file of its own, for a chat or a ticket.
func (r *request) summaryFile() error {
	found, err := r.s.Reader.FindRun(r.ctx, r.c.Param("run"))
	if err != nil {
		return err
	}
	b, err := r.openRun(found.ID)
	if err != nil {
		return err
	}
	return r.c.Blob(http.StatusOK, "text/markdown; charset=utf-8", []byte(b.summary()+"\n"))
}
