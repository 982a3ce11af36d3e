// Package pattern compiles regular expressions of bounded size and states their cost.
package pattern

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// StepsPerUnit is the number of steps of a naive search or of a regular expression that cost
	// one unit.
	StepsPerUnit = 32
	// maxPatternSize limits the instructions of a regular expression.
	maxPatternSize = 20_000
)

// Compile compiles a regular expression and counts its instructions. A short expression such as
// a{1000} can have many.
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
