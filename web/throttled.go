package web

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
)

// wait says how long whoever was refused is to wait, and until when: the page stays
// open while the time passes. Empty: the error does not know.
func (r *request) wait(err error) string {
	e, ok := errors.AsType[*kairos.Error](err)
	if !ok || e.RetryAfter <= 0 {
		return ""
	}
	seconds := int(math.Ceil(e.RetryAfter.Seconds()))
	r.c.Response().Header().Set("Retry-After", strconv.Itoa(seconds))
	until := r.s.now().Add(e.RetryAfter).In(r.display.zone).Format(time.TimeOnly)
	if seconds <= 90 {
		return r.n(seconds, "Try again in %s second, at %s.", "Try again in %s seconds, at %s.", until)
	}
	return r.n((seconds+59)/60, "Try again in %s minute, at %s.", "Try again in %s minutes, at %s.", until)
}

// tooMany is what a form says that was sent too often; empty: that is not why it was
// refused.
func (r *request) tooMany(err error) string {
	wait := r.wait(err)
	if wait == "" || kairos.CodeOf(err) != kairos.CodeTooMany {
		return ""
	}
	return r.t("Too many tries") + ". " + wait
}

// refusedWith is the status of a form that is shown again with what is wrong.
func refusedWith(err error) int {
	if kairos.CodeOf(err) == kairos.CodeTooMany {
		return http.StatusTooManyRequests
	}
	return http.StatusUnprocessableEntity
}
