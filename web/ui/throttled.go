package ui

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// retryAfter is how long a refused client must wait, in seconds or, where that is long, in minutes, and until
// when: the page stays open while the time passes. 0: unknown. The answer's header has it too.
func retryAfter(c *Context, err error) (n int, minutes bool, until string) {
	e, ok := errors.AsType[*domain.Error](err)
	if !ok || e.RetryAfter <= 0 {
		return 0, false, ""
	}
	seconds := int(math.Ceil(e.RetryAfter.Seconds()))
	c.Echo.Response().Header().Set("Retry-After", strconv.Itoa(seconds))
	until = c.Site.Now().Add(e.RetryAfter).In(c.Display.Zone).Format(time.TimeOnly)
	if seconds <= 90 {
		return seconds, false, until
	}
	return (seconds + 59) / 60, true, until
}

// Wait is when to try again; empty: unknown.
func (c *Context) Wait(err error) string {
	n, minutes, until := retryAfter(c, err)
	switch {
	case n == 0:
		return ""
	case minutes:
		return c.N(n, "Try again in %s minute, at %s.", "Try again in %s minutes, at %s.", until)
	}
	return c.N(n, "Try again in %s second, at %s.", "Try again in %s seconds, at %s.", until)
}

// TooMany is the message of a form that was sent too often; empty: it was refused for another reason.
func (c *Context) TooMany(err error) string {
	if domain.CodeOf(err) != domain.CodeTooMany {
		return ""
	}
	n, minutes, until := retryAfter(c, err)
	switch {
	case n == 0:
		return ""
	case minutes:
		return c.N(n, "Too many attempts. Try again in %s minute, at %s.", "Too many attempts. Try again in %s minutes, at %s.", until)
	}
	return c.N(n, "Too many attempts. Try again in %s second, at %s.", "Too many attempts. Try again in %s seconds, at %s.", until)
}

// RefusedWith is the status of a form that is shown again with what is wrong.
func RefusedWith(err error) int {
	if domain.CodeOf(err) == domain.CodeTooMany {
		return http.StatusTooManyRequests
	}
	return http.StatusUnprocessableEntity
}
