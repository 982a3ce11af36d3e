package tool

import (
	"fmt"

	"github.com/kairosd/kairosd/planner/walk"
)

// Failure codes of tools, besides the planner's own.
const (
	CodeTooLarge    = "too_large"
	CodeBlocked     = "blocked" // an address, file, or command that may not be accessed
	CodeUnreachable = "unreachable"
	CodeNotFound    = "not_found"
	CodeExit        = "exit" // a command ended with an unexpected exit code
)

// invalid returns the failure of invalid input. Nothing was done, and a retry cannot help.
func invalid(format string, args ...any) *walk.Failure {
	return refused(walk.CodeInvalidInput, format, args...)
}

// refused returns a permanent failure before anything was done.
func refused(code, format string, args ...any) *walk.Failure {
	return (&walk.Failure{Code: code, Permanent: true, NoEffect: true}).WithMessage(format, args...)
}

func suggest(f *walk.Failure, format string, args ...any) *walk.Failure {
	f.Suggestion = fmt.Sprintf(format, args...)
	return f
}
