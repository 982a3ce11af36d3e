package tool

import (
	"fmt"

	"github.com/kairosd/kairosd/planner"
)

// Failure codes of tools, besides the planner's own.
const (
	CodeTooLarge    = "too_large"
	CodeBlocked     = "blocked" // an address, file or command that may not be reached
	CodeUnreachable = "unreachable"
	CodeNotFound    = "not_found"
	CodeExit        = "exit" // a command ended with an exit code that was not expected
)

// invalid is bad input: nothing was done and doing it again cannot help.
func invalid(format string, args ...any) *planner.Failure {
	return refused(planner.CodeInvalidInput, format, args...)
}

// refused is a permanent failure before anything was done.
func refused(code, format string, args ...any) *planner.Failure {
	return &planner.Failure{Code: code, Message: fmt.Sprintf(format, args...), Permanent: true, NoEffect: true}
}

func suggest(f *planner.Failure, format string, args ...any) *planner.Failure {
	f.Suggestion = fmt.Sprintf(format, args...)
	return f
}
