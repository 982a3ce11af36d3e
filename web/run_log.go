package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

const (
	// pageLines bounds the lines of one page of a log, chunkLines those of a part
	// that a browser lays out at once.
	pageLines  = 2000
	chunkLines = 200
	// lineBytes bounds a line; the whole is in the file.
	lineBytes = 4 << 10
)

// levels are those of a log, the least first.
var levels = []struct{ key, word string }{{"", locale.Mark("All levels")}, {"info", locale.Mark("Info and above")}, {"warn", locale.Mark("Warnings and errors")}, {"error", locale.Mark("Errors")}}

func levelRank(level string) int {
	switch strings.ToLower(level) {
	case "debug", "trace":
		return 0
	case "warn", "warning":
		return 2
	case "error", "fatal":
		return 3
	}
	return 1
}

// eachLine walks the log of a run in order. Lines are numbered over the whole
// log, so that a line keeps its number under every filter.
func (b *runPage) eachLine(f func(number int, e *kairos.Entry, l logLine)) {
	n := 0
	for i := range b.d.Journal {
		e := &b.d.Journal[i]
		for _, l := range readLog(e.Log) {
			n++
			f(n, e, l)
		}
	}
}

// log is the merged log of all steps, filtered and in pages; the newest lines
// first asked for, while a line is addressed by its number.
func (b *runPage) log() *view.Log {
	l := &view.Log{Run: "/runs/" + b.d.Run.ID, Step: b.c.QueryParam("logstep"), Find: b.c.QueryParam("logq"), Level: b.c.QueryParam("level"), File: "/runs/" + b.d.Run.ID + "/log.txt"}
	l.Filtered = l.Step != "" || l.Find != "" || l.Level != ""
	for _, k := range levels {
		set := url.Values{"level": {k.key}, "line": nil}
		if k.key == "" {
			set["level"] = nil
		}
		l.Levels = append(l.Levels, view.Link{Text: b.t(k.word), Href: b.href(set), Current: l.Level == k.key})
	}
	least := levelRank(l.Level)
	if l.Level == "" {
		least = 0
	}
	type found struct {
		number int
		e      *kairos.Entry
		l      logLine
	}
	var all []found
	b.eachLine(func(number int, e *kairos.Entry, line logLine) {
		if l.Step != "" && e.Node != l.Step || levelRank(line.Level) < least || l.Find != "" && !strings.Contains(strings.ToLower(line.Message), strings.ToLower(l.Find)) {
			return
		}
		all = append(all, found{number, e, line})
	})
	last := max(len(all)-1, 0) / pageLines
	at := last // the tail, unless a line is asked for
	if n, err := strconv.Atoi(b.c.QueryParam("line")); err == nil && n > 0 {
		for i, f := range all {
			if f.number >= n {
				at = i / pageLines
				break
			}
		}
	}
	from, to := at*pageLines, min((at+1)*pageLines, len(all))
	for i, f := range all[from:to] {
		if i%chunkLines == 0 {
			l.Chunks = append(l.Chunks, nil)
		}
		n := strconv.Itoa(f.number)
		row := view.LogLine{Number: n, Href: b.href(url.Values{"line": {n}}) + "#L" + n, Level: visible(cut(f.l.Level, 20)), Step: stepName(f.e.Node, f.e.Visit), Text: visible(cut(f.l.Message, lineBytes)), At: b.time(cmpTime(f.l.At, f.e.At))}
		switch levelRank(f.l.Level) {
		case 3:
			row.Class = "err"
		case 2:
			row.Class = "warn"
		}
		l.Chunks[len(l.Chunks)-1] = append(l.Chunks[len(l.Chunks)-1], row)
	}
	if last > 0 {
		l.Shown = b.t("Lines %s to %s of %s", b.number(int64(from+1)), b.number(int64(to)), b.number(int64(len(all))))
		page := func(text string, p int) {
			if p != at && p >= 0 && p <= last {
				l.Pages = append(l.Pages, view.Link{Text: text, Href: b.href(url.Values{"line": {strconv.Itoa(all[p*pageLines].number)}})})
			}
		}
		page(b.t("First"), 0)
		page(b.t("Previous"), at-1)
		page(b.t("Next"), at+1)
		page(b.t("Last"), last)
	}
	return l
}

// logFile is the whole log as text: time, level, step, message.
func (r *request) logFile() error {
	b, err := r.openRun(r.c.Param("run"))
	if err != nil {
		return err
	}
	var text strings.Builder
	b.eachLine(func(_ int, e *kairos.Entry, l logLine) {
		fmt.Fprintf(&text, "%s %-5s %s: %s\n", cmpTime(l.At, e.At).UTC().Format("2006-01-02T15:04:05.000Z"), strings.ToUpper(l.Level), stepName(e.Node, e.Visit), l.Message)
	})
	h := r.c.Response().Header()
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=\"%s.log\"", kairos.ShortID(b.d.Run.ID)))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	return r.c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(text.String()))
}
