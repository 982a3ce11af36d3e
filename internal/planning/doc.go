// Package planning makes plans from intents: it classifies what is asked, and
// either names the agent that answers directly, or makes a step plan by rules
// over configured skills, or asks a model for one. Everything but the model call
// is pure, and every plan is checked by the same contracts, whoever made it.
package planning
