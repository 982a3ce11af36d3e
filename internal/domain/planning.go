package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// PlanningRequest is a request to the planner by rules.
type PlanningRequest struct {
	UserIntent    string        `json:"userIntent"`
	UserContext   UserContext   `json:"userContext,omitzero" required:"false"`
	SystemContext SystemContext `json:"systemContext"`
	Constraints   Constraints   `json:"constraints,omitzero" required:"false"`
	// Fresh generates a new plan even if an equal request has one.
	Fresh bool `json:"fresh,omitempty" doc:"Plan again, even if an equal request has a plan already."`
}

// UserContext describes the author of a request and their preferences.
type UserContext struct {
	UserID      string         `json:"userId,omitempty"`
	SessionID   string         `json:"sessionId,omitempty"`
	Preferences map[string]any `json:"preferences,omitempty"`
}

// SystemContext describes the available resources.
type SystemContext struct {
	AvailableSkills []string             `json:"availableSkills"`
	SystemLoad      float64              `json:"systemLoad,omitempty"` // 0 to 1
	RateLimits      map[string]RateLimit `json:"rateLimits,omitempty"`
	// Unavailable holds the reasons why skills, tools, agents, or providers cannot be used now, by
	// name.
	Unavailable map[string]string `json:"unavailable,omitempty"`
}

// RateLimit is a rate limit and its remainder. If nothing remains, the skills of that name are
// unavailable.
type RateLimit struct {
	Remaining int64 `json:"remaining"`
	Limit     int64 `json:"limit,omitempty"`
}

// Constraints limit a plan. Zero means no limit, but a given timeout must be positive.
type Constraints struct {
	MaxSteps int      `json:"maxSteps,omitempty"`
	Timeout  *float64 `json:"timeout,omitempty"`                         // milliseconds
	Budget   float64  `json:"budget,omitempty"`                          // tokens
	Priority string   `json:"priority,omitempty" enum:"low,medium,high"` // of the runs of the plan
	// Only lists the tools and agents that may be used. Empty means all.
	Only []string `json:"only,omitempty" maxItems:"100"`
	// ApproveUnsafe inserts an approval before every non-idempotent step.
	ApproveUnsafe bool `json:"approveUnsafe,omitempty"`
}

// Zero reports whether there are no constraints.
func (c Constraints) Zero() bool {
	return c.MaxSteps == 0 && c.Timeout == nil && c.Budget == 0 && c.Priority == "" && len(c.Only) == 0 && !c.ApproveUnsafe
}

// TimeLimit returns the timeout as a duration, or 0 if there is none.
func (c Constraints) TimeLimit() time.Duration {
	if c.Timeout == nil {
		return 0
	}
	return time.Duration(*c.Timeout * float64(time.Millisecond))
}

// Hash returns the hash of the request. Equal requests get equal plans. The author, the amount of
// white space, and the order of the skills do not matter.
func (r PlanningRequest) Hash() string {
	r.UserIntent = strings.Join(strings.Fields(r.UserIntent), " ")
	r.UserContext.UserID, r.UserContext.SessionID, r.Fresh = "", "", false
	skills := slices.Clone(r.SystemContext.AvailableSkills)
	slices.Sort(skills)
	r.SystemContext.AvailableSkills = slices.Compact(skills)
	only := slices.Clone(r.Constraints.Only)
	slices.Sort(only)
	r.Constraints.Only = slices.Compact(only)
	b, err := json.Marshal(r)
	if err != nil {
		b = []byte(r.UserIntent) // preferences that cannot be encoded cannot come from JSON
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
