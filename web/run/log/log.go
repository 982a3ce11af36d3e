// Package log contains the log view of a run.
package log

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/ansi"
	"github.com/kairosd/kairosd/web/run/record"
)

const (
	// pageLines is the number of lines of a page, and keptLines the maximum number of lines at the
	// end of the log if older ones are requested. chunkLines is the number of lines of an element
	// that a browser lays out at once.
	pageLines  = 2000
	keptLines  = 10_000
	chunkLines = 200
	// lineBytes is the maximum length of a displayed line. The downloaded file contains the whole
	// line.
	lineBytes = 4 << 10
)

// levels are the choices of the level filter, lowest first.
var levels = []struct{ key, word string }{
	{"", locale.Mark("All levels")},
	{"info", locale.Mark("Info and above")},
	{"warn", locale.Mark("Warnings and errors")},
	{"error", locale.Mark("Errors")},
}

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

// logPart builds the log view.
type logPart struct{ *record.Record }

// Of returns the log of a run, filtered by the parameters of the address.
func Of(b *record.Record) *Log { return logPart{b}.log() }

// eachLine calls f for each line of a run's log, in order. It numbers all lines, so that filters do
// not change the number of a line.
func (b logPart) eachLine(f func(number int, e *domain.Entry, l domain.LogLine)) {
	n := 0
	for i := range b.Detail.Journal {
		e := &b.Detail.Journal[i]
		for _, l := range domain.ReadLog(e.Log).Lines {
			n++
			f(n, e, l)
		}
	}
}

// foundLine is a line of the log that passes the filter.
type foundLine struct {
	number int // in the merged log of all steps, from 1
	entry  *domain.Entry
	line   domain.LogLine
}

// window is the range of found lines that the page shows.
type window struct {
	from, to   int // indexes of the found lines
	page, last int // index of the shown page, and of the last one
	first      int // first requested line number; 0 if the end of the log is shown
	until      int // last requested line number
}

// log returns one page of the merged log of all steps, filtered. It returns the end of the log, or
// the page of the requested line.
func (b logPart) log() *Log {
	l := &Log{
		Run:   "/runs/" + b.Detail.Run.ID,
		Step:  b.Query("logstep"),
		Find:  b.Query("logq"),
		Level: b.Query("level"),
		File:  "/runs/" + b.Detail.Run.ID + "/log.txt",
		Topic: "run-" + b.Detail.Run.ID,
	}
	l.Filtered = l.Step != "" || l.Find != "" || l.Level != ""
	for _, k := range levels {
		set := url.Values{"level": {k.key}, "line": nil}
		if k.key == "" {
			set["level"] = nil
		}
		l.Levels = append(l.Levels, kit.Link{Text: b.T(k.word), Href: b.Href(set), Current: l.Level == k.key, Swaps: true})
	}
	delta := b.Query("delta") != ""
	l.Times = []kit.Link{
		{Text: b.T("Time of day"), Href: b.Href(url.Values{"delta": nil}), Current: !delta, Swaps: true},
		{Text: b.T("Since the line before"), Href: b.Href(url.Values{"delta": {"1"}}), Current: delta, Swaps: true},
	}
	all := b.matching(l)
	w := b.window(l, all)
	b.showLines(l, all, &w, delta)
	if len(all) > 0 {
		l.Newest = strconv.Itoa(all[len(all)-1].number)
	}
	l.Follow = !b.Detail.Run.Status.Final() && w.first == 0
	if w.last > 0 {
		b.pageLinks(l, all, &w)
	}
	return l
}

// matching returns the lines that pass the filter.
func (b logPart) matching(l *Log) (all []foundLine) {
	least := levelRank(l.Level)
	if l.Level == "" {
		least = 0
	}
	find := strings.ToLower(l.Find)
	b.eachLine(func(number int, e *domain.Entry, line domain.LogLine) {
		if l.Step != "" && e.Node != l.Step || levelRank(line.Level) < least ||
			find != "" && !strings.Contains(strings.ToLower(line.Message), find) {
			return
		}
		all = append(all, foundLine{number, e, line})
	})
	return all
}

// window returns the lines to show: the page of the requested line, or the end of the log. At the
// end, it adds the link to older lines.
func (b logPart) window(l *Log, all []foundLine) window {
	w := window{last: max(len(all)-1, 0) / pageLines}
	w.first, w.until = lineRange(b.Query("line"))
	if w.first > 0 {
		w.page = w.last
		if i := slices.IndexFunc(all, func(f foundLine) bool { return f.number >= w.first }); i >= 0 {
			w.page = i / pageLines
		}
		w.from, w.to = w.page*pageLines, min((w.page+1)*pageLines, len(all))
		return w
	}
	most := pageLines
	if n, err := strconv.Atoi(b.Query("lines")); err == nil {
		most = min(max(n, pageLines), keptLines)
	}
	// Chunks begin at the same lines while the log grows, so that an update keeps the existing
	// elements and their positions.
	w.from, w.to = max(0, len(all)-most)/chunkLines*chunkLines, len(all)
	w.page = w.from / pageLines
	if w.from > 0 && most < keptLines {
		l.Older = &kit.Link{
			Text: b.N(min(pageLines, w.from), "%s older line", "%s older lines"),
			Href: b.Href(url.Values{"lines": {strconv.Itoa(most + pageLines)}, "line": nil}) + "#L" + strconv.Itoa(all[w.from].number),
		}
	}
	return w
}

// showLines adds the rows of a window, in chunks.
func (b logPart) showLines(l *Log, all []foundLine, w *window, delta bool) {
	for i, f := range all[w.from:w.to] {
		if i%chunkLines == 0 {
			l.Chunks = append(l.Chunks, nil)
		}
		row := LineOf(b.Record, f.line, f.entry)
		if delta {
			row.At.Text = "+0 ms"
			if i+w.from > 0 {
				before := all[i+w.from-1]
				row.At.Text = "+" + kit.Duration(f.at().Sub(before.at()))
			}
		}
		row.Number, row.Step = strconv.Itoa(f.number), kit.StepName(f.entry.Node, f.entry.Visit)
		row.Href = b.Href(url.Values{"line": {row.Number}}) + "#L" + row.Number
		row.Marked = f.number >= w.first && f.number <= w.until
		l.Chunks[len(l.Chunks)-1] = append(l.Chunks[len(l.Chunks)-1], row)
	}
}

// at returns the time of a line.
func (f *foundLine) at() time.Time { return record.TimeOr(f.line.At, f.entry.At) }

// pageLinks adds the range of the shown lines, and the links to other pages.
func (b logPart) pageLinks(l *Log, all []foundLine, w *window) {
	l.Shown = b.T("Lines %s to %s of %s", b.Number(int64(w.from+1)), b.Number(int64(w.to)), b.Number(int64(len(all))))
	link := func(text string, page int) {
		if page != w.page && page >= 0 && page <= w.last {
			first := strconv.Itoa(all[page*pageLines].number)
			l.Pages = append(l.Pages, kit.Link{Text: text, Href: b.Href(url.Values{"line": {first}})})
		}
	}
	link(b.T("First"), 0)
	if w.first > 0 {
		link(b.T("Previous"), w.page-1)
		link(b.T("Next"), w.page+1)
		link(b.T("Last"), w.last)
		return
	}
	if w.from%pageLines != 0 {
		w.page++ // the first line is within a page
	}
	link(b.T("Previous"), w.page-1)
}

// lineRange parses a line number such as 812, or a range such as 812-830. It returns 0, 0 if the
// text is invalid.
func lineRange(text string) (from, to int) {
	a, z, ranged := strings.Cut(text, "-")
	from, err := strconv.Atoi(a)
	if err != nil || from < 1 {
		return 0, 0
	}
	if to = from; ranged {
		if n, err := strconv.Atoi(z); err == nil {
			to = n
		}
	}
	return min(from, to), max(from, to)
}

// LineOf converts a log line. Colors become CSS classes, and nothing is interpreted as markup.
func LineOf(b *record.Record, l domain.LogLine, e *domain.Entry) LogLine {
	row := LogLine{Level: kit.Escape(kit.Truncate(l.Level, 20)), At: b.Time(record.TimeOr(l.At, e.At))}
	row.At.Text = record.TimeOr(l.At, e.At).In(b.Display.Zone).Format("15:04:05.000")
	for _, part := range ansi.Split(kit.Truncate(l.Message, lineBytes)) {
		row.Text = append(row.Text, Span{Class: part.Class, Text: kit.Escape(part.Text)})
	}
	switch levelRank(l.Level) {
	case 3:
		row.Class = "err"
	case 2:
		row.Class = "warn"
	}
	return row
}

// File handles the download of the whole log as text, with time, level, step, and message.
func File(r *record.Request) error {
	b, err := r.Open(r.Param("run"))
	if err != nil {
		return err
	}
	var text strings.Builder
	logPart{b}.eachLine(func(_ int, e *domain.Entry, l domain.LogLine) {
		fmt.Fprintf(
			&text,
			"%s %-5s %s: %s\n",
			record.TimeOr(l.At, e.At).In(r.Display.Zone).Format("2006-01-02T15:04:05.000Z07:00"),
			strings.ToUpper(l.Level),
			kit.StepName(e.Node, e.Visit),
			l.Message,
		)
	})
	h := r.Echo.Response().Header()
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=\"%s.log\"", domain.ShortID(b.Detail.Run.ID)))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	return r.Echo.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(text.String()))
}

// Rows handles the download of the whole log as JSON Lines.
func Rows(r *record.Request) error {
	b, err := r.Open(r.Param("run"))
	if err != nil {
		return err
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	logPart{b}.eachLine(func(n int, e *domain.Entry, l domain.LogLine) {
		if err == nil {
			err = out.Encode(
				map[string]any{
					"line":    n,
					"at":      record.TimeOr(l.At, e.At).UTC(),
					"level":   strings.ToLower(l.Level),
					"node":    e.Node,
					"visit":   e.Visit,
					"item":    e.Item,
					"attempt": e.Attempt,
					"message": l.Message,
				},
			)
		}
	})
	if err != nil {
		return fmt.Errorf("the log of run %s: %w", b.Detail.Run.ID, err)
	}
	h := r.Echo.Response().Header()
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=\"%s.jsonl\"", domain.ShortID(b.Detail.Run.ID)))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	return r.Echo.Blob(http.StatusOK, "text/plain; charset=utf-8", text.Bytes())
}
