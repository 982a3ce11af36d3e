package step

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/run/record"
)

// RawValue handles the download of a journal row's value. The response is an attachment that
// browsers do not execute.
func RawValue(r *record.Request) error {
	seq, err := strconv.ParseInt(r.Param("seq"), 10, 64)
	if err != nil || seq < 0 {
		return domain.Errorf(domain.CodeNotFound, "no such row")
	}
	parts := map[string]domain.RawJSON{}
	if seq == 0 { // values of the run itself
		run, err := r.Reader.FindRun(r.Context, r.Param("run"))
		if err != nil {
			return err
		}
		if !run.PurgedAt.IsZero() {
			return r.Removed(run, 0)
		}
		parts["input"], parts["output"] = run.Input, run.Output
	} else {
		rows, err := r.Reader.JournalPage(r.Context, r.Param("run"), seq-1, 1)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			if run, err := r.Reader.FindRun(r.Context, r.Param("run")); err == nil && !run.PurgedAt.IsZero() {
				return r.Removed(run, seq)
			}
			return domain.Errorf(domain.CodeNotFound, "no such row")
		}
		parts["input"], parts["output"] = rows[0].Input, rows[0].Output
	}
	j := parts[r.Param("part")]
	if path := r.Query("path"); path != "" { // a part of the value
		if j, err = partOf(j, path); err != nil {
			return err
		}
	}
	h := r.Echo.Response().Header()
	h.Set(
		"Content-Disposition",
		fmt.Sprintf("attachment; filename=\"%s-%d-%s.json\"", domain.ShortID(r.Param("run")), seq, safePart(r.Param("part"))),
	)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	return r.Echo.Blob(http.StatusOK, "text/plain; charset=utf-8", j)
}

// partOf returns the part of a value at a path: text unquoted, anything else as JSON.
func partOf(j domain.RawJSON, path string) (domain.RawJSON, error) {
	v, err := jsonvalue.Decode(j)
	if err != nil {
		return nil, domain.Errorf(domain.CodeNotFound, "the value cannot be read in parts")
	}
	v, ok := value.At(v, path)
	if !ok {
		return nil, domain.Errorf(domain.CodeNotFound, "the value has no part %s", kit.Truncate(path, 100))
	}
	if s, ok := v.(string); ok {
		return domain.RawJSON(s), nil
	}
	return jsonvalue.Encode(v)
}

// safePart returns the file name for a part of a row. It never returns unknown input, which would
// be part of a header.
func safePart(p string) string {
	if p == "input" || p == "output" {
		return p
	}
	return "value"
}
