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

// RawValue downloads a journal row's value: as an attachment that no browser runs.
func RawValue(r *record.Request) error {
	seq, err := strconv.ParseInt(r.Param("seq"), 10, 64)
	if err != nil || seq < 0 {
		return domain.Errorf(domain.CodeNotFound, "no such row")
	}
	parts := map[string]domain.RawJSON{}
	if seq == 0 { // of the run itself
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
	if path := r.Query("path"); path != "" { // a part of it
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

// partOf is what a path leads to in a value: a text as it is, anything else as
// JSON.
func partOf(j domain.RawJSON, path string) (domain.RawJSON, error) {
	v, err := jsonvalue.Decode(j)
	if err != nil {
		return nil, domain.Errorf(domain.CodeNotFound, "the value cannot be read in parts")
	}
	v, ok := value.At(v, path)
	if !ok {
		return nil, domain.Errorf(domain.CodeNotFound, "the value has no part %s", kit.Cut(path, 100))
	}
	if s, ok := v.(string); ok {
		return domain.RawJSON(s), nil
	}
	return jsonvalue.Encode(v)
}

// safePart keeps a path parameter out of a header unless it is known.
func safePart(p string) string {
	if p == "input" || p == "output" {
		return p
	}
	return "value"
}
