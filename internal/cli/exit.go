package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/kairosd/kairosd/internal/kairos"
)

// Exit codes of kairos and of kairosd's one-shot commands (SPEC 9.1).
const (
	exitDone        = 0
	exitFailed      = 1 // the run failed or was cancelled
	exitUsage       = 2 // bad usage or an invalid plan
	exitWaits       = 3 // the run waits for a person
	exitUnavailable = 4 // the daemon or database cannot be used
)

// Exit codes of kairosd serve: sysexits(3), so that a service manager can tell
// what a restart may heal (ruling 27).
const (
	sysUsage    = 64
	sysData     = 65
	sysUnavail  = 69
	sysSoftware = 70
	sysIO       = 74
	sysTempFail = 75
	sysNoPerm   = 77
	sysConfig   = 78
)

// exit ends a command with a code; err, if any, has been or is to be printed.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err != nil {
		return e.err.Error()
	}
	return fmt.Sprintf("exit %d", e.code)
}

func (e *exit) Unwrap() error { return e.err }

// usage is a mistake in how a command was called.
func usage(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

// codeFor maps an error to the exit code of kairos.
func codeFor(err error) int {
	if err == nil {
		return exitDone
	}
	if e, ok := errors.AsType[*exit](err); ok {
		return e.code
	}
	switch kairos.CodeOf(err) {
	case kairos.CodeUnavailable, kairos.CodeLocked, kairos.CodeNoSpace, kairos.CodeCorrupt, kairos.CodeInternal, kairos.CodeUnauthorized:
		return exitUnavailable
	}
	return exitUsage
}

// sysexitFor maps an error to the exit code of kairosd serve.
func sysexitFor(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*exit](err); ok {
		if e.code == exitUsage {
			return sysUsage
		}
		return e.code
	}
	switch kairos.CodeOf(err) {
	case kairos.CodeLocked:
		return sysTempFail
	case kairos.CodeCorrupt:
		return sysData
	case kairos.CodeNoSpace:
		return sysIO
	case kairos.CodeUnavailable:
		return sysUnavail
	case kairos.CodeForbidden:
		return sysNoPerm
	case kairos.CodeInvalid:
		return sysConfig
	}
	return sysSoftware
}

// advise gives an error another suggestion: what to do depends on who is told.
func advise(err error, suggestion string) error {
	e, ok := errors.AsType[*kairos.Error](err)
	if !ok {
		return err
	}
	told := *e
	told.Suggestion = suggestion
	return &told
}

// report prints an error for a person: what is wrong, and what to do.
func report(w io.Writer, program string, err error) {
	if e, ok := errors.AsType[*exit](err); ok && e.err == nil {
		return
	}
	fmt.Fprintf(w, "%s: %s\n", program, err)
	if e, ok := errors.AsType[*kairos.Error](err); ok && e.Suggestion != "" {
		fmt.Fprintf(w, "  %s\n", e.Suggestion)
	}
}
