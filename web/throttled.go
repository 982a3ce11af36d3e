package web

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// respite is how long whoever was refused is to wait, in seconds or, where that is
// long, in minutes, and until when: the page stays open while the time passes. 0: the
// error does not know. The answer's header says it too.
func (r *request) respite(err error) (n int, minutes bool, until string) {
	e, ok := errors.AsType[*domain.Error](err)
	if !ok || e.RetryAfter <= 0 {
		return 0, false, ""
	}
	seconds := int(math.Ceil(e.RetryAfter.Seconds()))
	r.c.Response().Header().Set("Retry-After", strconv.Itoa(seconds))
	until = r.s.now().Add(e.RetryAfter).In(r.display.zone).Format(time.TimeOnly)
	if seconds <= 90 {
		return seconds, false, until
	}
	return (seconds + 59) / 60, true, until
}

// wait says when to try again; empty: the error does not know.
func (r *request) wait(err error) string {
	n, minutes, until := r.respite(err)
	switch {
	case n == 0:
		return ""
	case minutes:
		return r.n(n, "Try again in %s minute, at %s.", "Try again in %s minutes, at %s.", until)
	}
	return r.n(n, "Try again in %s second, at %s.", "Try again in %s seconds, at %s.", until)
}

// tooMany is what a form says that was sent too often; empty: that is not why it was
// refused.
func (r *request) tooMany(err error) string {
	if domain.CodeOf(err) != domain.CodeTooMany {
		return ""
	}
	n, minutes, until := r.respite(err)
	switch {
	case n == 0:
		return ""
	case minutes:
		return r.n(n, "Too many tries. Try again in %s minute, at %s.", "Too many tries. Try again in %s minutes, at %s.", until)
	}
	return r.n(n, "Too many tries. Try again in %s second, at %s.", "Too many tries. Try again in %s seconds, at %s.", until)
}

// refusedWith is the status of a form that is shown again with what is wrong.
func refusedWith(err error) int {
	if domain.CodeOf(err) == domain.CodeTooMany {
		return http.StatusTooManyRequests
	}
	return http.StatusUnprocessableEntity
}
