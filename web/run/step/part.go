package step

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/run/record"
)

// RawPart handles the download of a part of a step, from the requested or the last attempt. The
// response is an attachment that browsers do not execute.
func RawPart(r *record.Request) error {
	b, err := r.Open(r.Param("run"))
	if err != nil {
		return err
	}
	if !b.Detail.Run.PurgedAt.IsZero() {
		seq, err := strconv.ParseInt(r.Param("seq"), 10, 64)
		if err != nil {
			seq = -1
		}
		return r.Removed(b.Detail.Run, seq)
	}
	st, err := b.StepOf(r.Param("seq"))
	if err != nil {
		return err
	}
	a := st.Attempt(r.Query("try"))
	entry, input := st.Last, st.Last.Input
	if a != nil {
		entry, input = a.Entry, a.Input
	}
	var data []byte
	ext := "json"
	switch part := r.Param("part"); part {
	case "input":
		data = input
	case "output":
		data = entry.Output
	case "prompt":
		if !b.Conversations(st.Node) && len(st.Calls) == 0 {
			return domain.Errorf(domain.CodeNotFound, "%s uses no model", st.Label())
		}
		if data, err = json.MarshalIndent(promptOf(st, a), "", "  "); err != nil {
			return fmt.Errorf("the prompt of %s: %w", st.Label(), err)
		}
	case "error":
		f := entry.Failure
		if f == nil {
			return domain.Errorf(domain.CodeNotFound, "%s has no error", st.Label())
		}
		ext, data = "txt", []byte(strings.Join(errorText(f), "\n\n")+"\n")
	case "log":
		ext = "txt"
		if a != nil {
			var text strings.Builder
			for _, l := range domain.ReadLog(a.Log).Lines {
				fmt.Fprintf(
					&text,
					"%s %-5s %s\n",
					record.TimeOr(l.At, entry.At).In(r.Display.Zone).Format("2006-01-02T15:04:05.000Z07:00"),
					strings.ToUpper(l.Level),
					l.Message,
				)
			}
			data = []byte(text.String())
		}
	default:
		return domain.Errorf(domain.CodeNotFound, "a step has no part %q", kit.Truncate(part, 40)).
			Suggest("input, output, prompt, error or log")
	}
	h := r.Echo.Response().Header()
	h.Set(
		"Content-Disposition",
		fmt.Sprintf("attachment; filename=\"%s-%d-%s.%s\"", domain.ShortID(b.Detail.Run.ID), st.Seq, r.Param("part"), ext),
	)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	return r.Echo.Blob(http.StatusOK, "text/plain; charset=utf-8", data)
}

// errorText returns the complete text of a failure, from the outermost to the innermost cause.
func errorText(f *domain.Failure) []string {
	out := []string{f.Code + ": " + f.Message}
	for _, more := range append(append([]string{f.Suggestion, f.Detail}, f.Causes...), f.Stack) {
		if more != "" && more != f.Message {
			out = append(out, more)
		}
	}
	return out
}
