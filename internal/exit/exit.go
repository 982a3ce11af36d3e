package exit

import (
	"errors"
	"fmt"
	"io"

	"github.com/kairosd/kairosd/internal/domain"
)

// Exit codes of kairos and of kairosd's one-shot commands.
const (
	Done        = 0
	Failed      = 1 // the run failed or was cancelled
	BadUsage    = 2 // bad usage or an invalid plan
	Waits       = 3 // the run waits for a person
	Unavailable = 4 // the daemon or database cannot be used
)

// Exit codes of kairosd serve. They follow sysexits(3), so that a service manager can distinguish
// errors that a restart may fix.
const (
	SysUsage    = 64
	sysData     = 65
	SysUnavail  = 69
	sysSoftware = 70
	SysIO       = 74
	sysTempFail = 75
	sysNoPerm   = 77
	SysConfig   = 78
)

// Status is an error that ends a command with an exit code. err, if not nil, is the error to print.
type Status struct {
	Code int
	Err  error
}

func (e *Status) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("exit %d", e.Code)
}

func (e *Status) Unwrap() error { return e.Err }

// With returns an error that ends a command with a code, after err is printed.
func With(code int, err error) error { return &Status{code, err} }

// Usage returns the error of an incorrect command line.
func Usage(format string, args ...any) error {
	return With(BadUsage, fmt.Errorf(format, args...))
}

// CodeFor returns the exit code of kairos for an error.
func CodeFor(err error) int {
	if err == nil {
		return Done
	}
	if e, ok := errors.AsType[*Status](err); ok {
		return e.Code
	}
	switch domain.CodeOf(err) {
	case domain.CodeUnavailable, domain.CodeLocked, domain.CodeNoSpace, domain.CodeCorrupt, domain.CodeInternal, domain.CodeUnauthorized:
		return Unavailable
	}
	return BadUsage
}

// SysexitFor returns the exit code of kairosd serve for an error.
func SysexitFor(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*Status](err); ok {
		if e.Code == BadUsage {
			return SysUsage
		}
		return e.Code
	}
	switch domain.CodeOf(err) {
	case domain.CodeLocked:
		return sysTempFail
	case domain.CodeCorrupt:
		return sysData
	case domain.CodeNoSpace:
		return SysIO
	case domain.CodeUnavailable:
		return SysUnavail
	case domain.CodeForbidden:
		return sysNoPerm
	case domain.CodeInvalid:
		return SysConfig
	}
	return sysSoftware
}

// Advise replaces the suggestion of an error, because the next step depends on the reader.
func Advise(err error, suggestion string) error {
	e, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return err
	}
	advised := *e
	advised.Suggestion = suggestion
	return &advised
}

// Report prints an error for a person: the problem and the next step.
func Report(w io.Writer, program string, err error) {
	if e, ok := errors.AsType[*Status](err); ok && e.Err == nil {
		return
	}
	fmt.Fprintf(w, "%s: %s\n", program, err)
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Suggestion != "" {
		fmt.Fprintf(w, "  %s\n", e.Suggestion)
	}
}
