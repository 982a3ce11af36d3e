package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
)

// This file is what an operator may ask of a resume besides going on: only one
// step, and other limits for what runs again. Both are a row of the journal after
// the reset, so that a daemon that dies in between goes on as it was asked to.

// visitOf reads "node" or "node#visit"; without a number it is the latest of the
// visits that may be meant.
func visitOf(name string, latest func(node string) int) (node string, visit int, err error) {
	node, number, numbered := strings.Cut(name, "#")
	if !numbered {
		return node, latest(node), nil
	}
	visit, err = strconv.Atoi(number)
	if err != nil || visit < 1 {
		return "", 0, domain.Errorf(domain.CodeInvalid, "%q is not node or node#visit", name)
	}
	return node, visit, nil
}

// resumeOptions checks what is asked of a resume against what it opens again; nil:
// nothing is.
func (v *view) resumeOptions(req domain.VerbRequest, reset planner.Reset) (*runstate.ResumeOptions, error) {
	if req.Only == "" && req.Timeout == 0 && req.Attempts == 0 {
		return nil, nil
	}
	o := &runstate.ResumeOptions{Timeout: req.Timeout, Attempts: req.Attempts}
	var names []string
	for _, r := range reset.Reopened {
		o.Reopened = append(o.Reopened, runstate.StepRef{Node: r.Node, Visit: r.Visit, Item: runstate.NoItem})
		names = append(names, visitName(r.Node, r.Visit))
	}
	if req.Only == "" {
		return o, nil
	}
	node, visit, err := visitOf(req.Only, func(node string) int {
		latest := 0
		for _, r := range reset.Reopened {
			if r.Node == node {
				latest = max(latest, r.Visit)
			}
		}
		return latest
	})
	if err != nil {
		return nil, err
	}
	only := runstate.StepRef{Node: node, Visit: visit, Item: runstate.NoItem}
	if !slices.Contains(o.Reopened, only) {
		return nil, domain.Errorf(domain.CodeInvalid, "%s is no step that would run again", req.Only).Suggest("only one of these can be retried by itself: %s", strings.Join(names, ", "))
	}
	o.Only = &only
	return o, nil
}

// narrowed is a preview's lists when only one step was asked for: everything else
// waits.
func (l *lists) narrowed(o *runstate.ResumeOptions) {
	if o == nil || o.Only == nil {
		return
	}
	is := func(s domain.PreviewStep) bool { return s.Node == o.Only.Node && s.Visit == o.Only.Visit }
	for _, list := range []*[]domain.PreviewStep{&l.again, &l.fresh} {
		for _, s := range *list {
			if !is(s) {
				l.later = append(l.later, s)
			}
		}
		*list = slices.DeleteFunc(*list, func(s domain.PreviewStep) bool { return !is(s) })
	}
	l.effects = slices.DeleteFunc(l.effects, func(s domain.PreviewStep) bool { return !is(s) })
}

// checkOptions refuses options that no resume can have.
func checkOptions(r domain.VerbRequest) error {
	if r.Timeout < 0 || r.Attempts < 0 {
		return domain.Errorf(domain.CodeInvalid, "timeout and attempts cannot be negative")
	}
	if r.Attempts > maxAttemptsAsked {
		return domain.Errorf(domain.CodeInvalid, "%d attempts are too many", r.Attempts).Suggest("at most %d", maxAttemptsAsked)
	}
	if r.Timeout > 0 && r.Timeout < time.Millisecond {
		return domain.Errorf(domain.CodeInvalid, "a timeout of %s is too short", r.Timeout).Suggest(`write a number and a unit, like "90s" or "10m"`)
	}
	return nil
}

// maxAttemptsAsked bounds the attempts that a resume may grant.
const maxAttemptsAsked = 100

func asksOptions(r domain.VerbRequest) bool {
	return r.Only != "" || r.Timeout != 0 || r.Attempts != 0
}

// noOptions says that a run which is not over takes no options.
func noOptions() error {
	return domain.Errorf(domain.CodeInvalid, "only a failed or cancelled run can be resumed with options").Suggest("resume it without")
}
