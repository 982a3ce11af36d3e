package kairos

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// PlanningRequest asks the planner by rules for a plan [001].
type PlanningRequest struct {
	UserIntent    string        `json:"userIntent"`
	UserContext   UserContext   `json:"userContext,omitzero" required:"false"`
	SystemContext SystemContext `json:"systemContext"`
	Constraints   Constraints   `json:"constraints,omitzero" required:"false"`
}

// UserContext says who asks and how they like it.
type UserContext struct {
	UserID      string         `json:"userId,omitempty"`
	SessionID   string         `json:"sessionId,omitempty"`
	Preferences map[string]any `json:"preferences,omitempty"`
}

// SystemContext says what may be used.
type SystemContext struct {
	AvailableSkills []string             `json:"availableSkills"`
	SystemLoad      float64              `json:"systemLoad,omitempty"` // 0 to 1
	RateLimits      map[string]RateLimit `json:"rateLimits,omitempty"`
}

// RateLimit is how much of something is left; nothing left makes the skills of
// that name unavailable (ruling 35).
type RateLimit struct {
	Remaining int64 `json:"remaining"`
	Limit     int64 `json:"limit,omitempty"`
}

// Constraints bound a plan; zero is no bound, but a timeout that is given must
// be positive.
type Constraints struct {
	MaxSteps int      `json:"maxSteps,omitempty"`
	Timeout  *float64 `json:"timeout,omitempty"` // milliseconds
	Budget   float64  `json:"budget,omitempty"`  // tokens
	Priority string   `json:"priority,omitempty"`
}

// TimeLimit is the timeout as a duration; 0: none.
func (c Constraints) TimeLimit() time.Duration {
	if c.Timeout == nil {
		return 0
	}
	return time.Duration(*c.Timeout * float64(time.Millisecond))
}

// RunPriority is the priority of the run that a plan becomes.
func (c Constraints) RunPriority() int {
	switch c.Priority {
	case "high":
		return 10
	case "low":
		return -10
	}
	return 0
}

// Hash names a request: equal requests give equal plans (INV-PLAN-001).
func (r PlanningRequest) Hash() string {
	b, err := json.Marshal(r)
	if err != nil {
		b = []byte(r.UserIntent) // preferences that are not JSON cannot come from JSON
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
