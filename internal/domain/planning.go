package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// PlanningRequest asks the planner by rules for a plan [001].
type PlanningRequest struct {
	UserIntent    string        `json:"userIntent"`
	UserContext   UserContext   `json:"userContext,omitzero" required:"false"`
	SystemContext SystemContext `json:"systemContext"`
	Constraints   Constraints   `json:"constraints,omitzero" required:"false"`
	// Fresh plans again where an equal request has a plan already.
	Fresh bool `json:"fresh,omitempty" doc:"Plan again, even if an equal request has a plan already."`
}

// UserContext states who asks and how they like it.
type UserContext struct {
	UserID      string         `json:"userId,omitempty"`
	SessionID   string         `json:"sessionId,omitempty"`
	Preferences map[string]any `json:"preferences,omitempty"`
}

// SystemContext states what may be used.
type SystemContext struct {
	AvailableSkills []string             `json:"availableSkills"`
	SystemLoad      float64              `json:"systemLoad,omitempty"` // 0 to 1
	RateLimits      map[string]RateLimit `json:"rateLimits,omitempty"`
	// Unavailable states why a skill, tool, agent or provider can do nothing now, by name.
	Unavailable map[string]string `json:"unavailable,omitempty"`
}

// RateLimit is how much of something is left; nothing left makes the skills of
// that name unavailable.
type RateLimit struct {
	Remaining int64 `json:"remaining"`
	Limit     int64 `json:"limit,omitempty"`
}

// Constraints bound a plan; zero is not a bound, but a timeout that is given must
// be positive.
type Constraints struct {
	MaxSteps int      `json:"maxSteps,omitempty"`
	Timeout  *float64 `json:"timeout,omitempty"`                         // milliseconds
	Budget   float64  `json:"budget,omitempty"`                          // tokens
	Priority string   `json:"priority,omitempty" enum:"low,medium,high"` // of the runs of the plan
	// Only these tools and agents may be planned; empty: all that there are.
	Only []string `json:"only,omitempty" maxItems:"100"`
	// ApproveUnsafe puts the question before every step that cannot be repeated:
	// it runs only once a person has approved it.
	ApproveUnsafe bool `json:"approveUnsafe,omitempty"`
}

// Zero reports whether nothing is bounded.
func (c Constraints) Zero() bool {
	return c.MaxSteps == 0 && c.Timeout == nil && c.Budget == 0 && c.Priority == "" && len(c.Only) == 0 && !c.ApproveUnsafe
}

// TimeLimit is the timeout as a duration; 0: none.
func (c Constraints) TimeLimit() time.Duration {
	if c.Timeout == nil {
		return 0
	}
	return time.Duration(*c.Timeout * float64(time.Millisecond))
}

// Hash names a request: equal requests give equal plans (INV-PLAN-001). Who asks,
// in how many blanks, and the order of the skills do not matter.
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
		b = []byte(r.UserIntent) // preferences that are not JSON cannot come from JSON
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
