package apitypes

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Signal is a named event that ends the waits of steps.
type Signal struct {
	ID        string              `json:"id"`
	Name      string              `json:"name" doc:"The name that steps wait for."`
	Key       string              `json:"key" doc:"The key that steps wait for with the name; may be empty."`
	Data      domain.RawJSON      `json:"data" doc:"The data, which the step outputs."`
	All       bool                `json:"all" doc:"It ends all waits, not one."`
	Source    string              `json:"source" doc:"Origin of the signal: api, cli, or hook:KEY."`
	Actor     string              `json:"actor" doc:"Principal that sent it."`
	Status    domain.SignalStatus `json:"status" enum:"waiting,matched,unmatched" doc:"unmatched: it expired, and no step waited for it."`
	CreatedAt time.Time           `json:"createdAt"`
	ExpiresAt time.Time           `json:"expiresAt" doc:"Until when it can end a wait."`
	Matches   []SignalMatch       `json:"matches" doc:"The waits that it ended, at most 100."`
}

// SignalMatch is a wait that a signal ended.
type SignalMatch struct {
	Run   string    `json:"run" doc:"The run's id."`
	Node  string    `json:"node" doc:"The step."`
	Visit int       `json:"visit" doc:"The iteration, starting at 1."`
	Item  int       `json:"item" doc:"The item of a foreach; -1: none."`
	At    time.Time `json:"matchedAt" doc:"Time at which the wait ended."`
}

// SignalWait is the wait of a step for a signal.
type SignalWait struct {
	Run   string    `json:"run" doc:"The run's id."`
	Plan  string    `json:"plan" doc:"The key of its plan."`
	Name  string    `json:"name" doc:"The name of the signal."`
	Key   string    `json:"key" doc:"The key of the signal; may be empty."`
	Node  string    `json:"node" doc:"The step."`
	Visit int       `json:"visit" doc:"The iteration, starting at 1."`
	Item  int       `json:"item" doc:"The item of a foreach; -1: none."`
	Since time.Time `json:"startedAt" doc:"Time at which the wait began."`
	Due   time.Time `json:"dueAt,omitzero" doc:"Time at which it ends without a signal; absent: never."`
}

// SignalWaitOf is a wait as the API returns it.
func SignalWaitOf(w domain.SignalWait) SignalWait {
	return SignalWait{Run: w.Run, Plan: w.Plan, Name: w.Name, Key: w.Key, Node: w.Node, Visit: w.Visit, Item: w.Item, Since: w.Since,
		Due: w.Due}
}

// SignalCreate is a signal to send.
type SignalCreate struct {
	Name    string         `json:"name" maxLength:"256" doc:"The name that steps wait for." example:"paid.42"`
	Key     string         `json:"key,omitempty" maxLength:"256" doc:"The key that steps wait for with the name."`
	Data    domain.RawJSON `json:"data,omitempty" doc:"Any JSON value, up to 256 KiB."`
	Deliver string         `json:"deliver,omitempty" enum:"one,all" doc:"all: ends all waits that are open or begin before it expires."`
	Keep    string         `json:"keep,omitempty" maxLength:"32" doc:"How long to keep it for a wait: 1h or PT1H, at most 720h; default 24h."`
}

// SignalOf is a signal as the API returns it.
func SignalOf(s domain.Signal) Signal {
	out := Signal{ID: s.ID, Name: s.Name, Key: s.Key, Data: s.Data, All: s.All, Source: s.Source, Actor: s.Actor, Status: s.Status,
		CreatedAt: s.CreatedAt, ExpiresAt: s.ExpiresAt, Matches: []SignalMatch{}}
	for _, m := range s.Matches {
		out.Matches = append(out.Matches, SignalMatch(m))
	}
	return out
}
