// Package events derives events from the commits of the store and delivers them.
//
// Events are not stored separately. Each is a function of an audit record and its journal rows, so
// that live listeners and replays receive the same events in the same order. [Topics] maps an event
// to the parts of the dashboard that it may change.
package events
