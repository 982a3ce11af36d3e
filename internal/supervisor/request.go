package supervisor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Request asks the planner by rules for a plan [001].
type Request struct {
	UserIntent    string        `json:"userIntent"`
	UserContext   UserContext   `json:"userContext,omitzero"`
	SystemContext SystemContext `json:"systemContext"`
	Constraints   Constraints   `json:"constraints,omitzero"`
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
func (r Request) Hash() string {
	b, err := json.Marshal(r)
	if err != nil {
		b = []byte(r.UserIntent) // preferences that are not JSON cannot come from JSON
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Codes of a request that gets no plan [001].
const (
	CodeInsufficientResources = "INSUFFICIENT_RESOURCES"
	CodeNoValidPlan           = "NO_VALID_PLAN"
)

// Error says why there is no plan.
type Error struct {
	Code        string   `json:"code"`
	Message     string   `json:"message"`
	Recoverable bool     `json:"recoverable"`
	Suggestion  string   `json:"suggestion"`
	Violations  []string `json:"violations,omitempty"` // rule ids
	// Answer is the last answer of a model that could not be used.
	Answer string `json:"answer,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// violation is a broken rule.
type violation struct{ rule, text string }

// refuse makes the error of violated rules: what a request cannot have at all is
// NO_VALID_PLAN; too small a budget alone can be mended (ruling 35).
func refuse(list []violation) *Error {
	e := &Error{Code: CodeInsufficientResources, Message: "Cannot create plan within budget constraints", Recoverable: true, Suggestion: "Increase budget or simplify request"}
	var texts []string
	for _, v := range list {
		if v.rule != "PRE-PLAN-003" {
			e.Code, e.Message, e.Recoverable, e.Suggestion = CodeNoValidPlan, "Cannot create valid execution plan for request", false, "Rephrase request or make skills available"
		}
		e.Violations = append(e.Violations, v.rule)
		texts = append(texts, v.text)
	}
	if len(texts) > 0 {
		e.Message += ": " + strings.Join(texts, "; ")
	}
	return e
}

// preconditions lists every violated rule PRE-PLAN-001 to 003. a is what the
// intent asks for, and tokens what the required skills are estimated to need.
func (r Request) preconditions(a Analysis, usable map[string]bool, tokens int64) []violation {
	var out []violation
	if strings.TrimSpace(r.UserIntent) == "" || len(r.SystemContext.AvailableSkills) == 0 || r.Constraints.Timeout != nil && *r.Constraints.Timeout <= 0 {
		out = append(out, violation{"PRE-PLAN-001", "Planning request must have valid intent and available skills"})
	}
	var missing []string
	for _, id := range a.RequiredSkills {
		if !usable[id] {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		out = append(out, violation{"PRE-PLAN-002", fmt.Sprintf("All required skills must be available (missing: %s)", strings.Join(missing, ", "))})
	}
	if r.Constraints.Budget > 0 && float64(tokens) > r.Constraints.Budget {
		out = append(out, violation{"PRE-PLAN-003", "Sufficient token budget must be available"})
	}
	return out
}
