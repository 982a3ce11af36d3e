// Package agent holds agents, tools and the interfaces they meet in. It stands
// alone: it imports the planner and nothing internal.
package agent
