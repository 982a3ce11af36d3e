// Package planning makes plans from requests. It classifies a request. It then names an agent that
// answers directly, makes a step plan by rules over configured skills, or requests a plan from a
// model. Everything except the model call is pure, and every plan passes the same checks.
package planning
