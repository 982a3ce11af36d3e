// Package domain holds the words of kairosd: plans and their versions, runs and
// their journals, checkpoints, audit events, failures. It states what they are
// and which moves are legal; it stores nothing and runs nothing.
package domain
