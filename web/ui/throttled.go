package ui

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// retryAfter returns how long the client must wait, in minutes if that is more than 90 seconds, and
// the time when the wait ends. n is 0 if unknown. It also sets the Retry-After header.
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

// Wait returns a message with the time to wait before trying again, or "" if it is unknown.
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

// TooMany returns the error message for a form that was sent too often, or "" for other errors.
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

// RefusedWith returns the HTTP status of a rejected form.
func RefusedWith(err error) int {
	if domain.CodeOf(err) == domain.CodeTooMany {
		return http.StatusTooManyRequests
	}
	return http.StatusUnprocessableEntity
}
