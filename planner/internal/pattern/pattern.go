// Package pattern compiles regular expressions of bounded size and states their cost.
package pattern

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// StepsPerUnit is how many steps of a naive search or of a regular expression
	// cost one unit.
	StepsPerUnit = 32
	// maxPatternSize bounds the instructions of a regular expression.
	maxPatternSize = 20_000
)

// Compile compiles a regular expression and counts its instructions, which
// a few characters such as a{1000} can make many.
func Compile(text string) (*regexp.Regexp, int, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, 0, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, 0, err
	}
	if len(prog.Inst) > maxPatternSize {
		return nil, 0, fmt.Errorf("the regular expression is too large: repeat less in it")
	}
	return re, len(prog.Inst), nil
}
