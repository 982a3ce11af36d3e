// Package agent runs agents in memory. An [Agent] answers an input by a loop of model calls and tool
// calls, or by walking a plan of package [github.com/kairosd/kairosd/planner].
//
// Implement [github.com/kairosd/kairosd/agent/llm.Provider] over the client of your model, and
// [github.com/kairosd/kairosd/agent/llm.Tool] for each function that the model may call.
package agent
