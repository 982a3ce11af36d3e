// Package events derives events from what the store has committed and delivers them.
//
// Events are not a second truth: each is a function of an audit record and its journal
// rows, so that live listeners and replays get the same events in the same order.
// [Topics] maps an event to the parts of the dashboard that it may change.
package events
