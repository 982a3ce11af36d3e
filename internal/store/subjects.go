package store

// The writes of the store are divided by subject. Each subject reads and writes through the store.
// Reads without writes are in package query.

// accounts are users, with their second factors, sessions, and tokens.
type accounts struct{ store *Store }

// access seals rows that grant access, checks them, and signs exports.
type access struct{ store *Store }

// approvals are approval requests.
type approvals struct{ store *Store }

// auditLog is the chain of audit events.
type auditLog struct{ store *Store }

// work is bulk operations, drafts, and deliveries.
type work struct{ store *Store }

// attention is the acknowledgment of failed runs.
type attention struct{ store *Store }

// retention deletes old data, and measures space.
type retention struct{ store *Store }

// entities are plans, settings, accepted tools, and sessions.
type entities struct{ store *Store }

// holds prevent the execution of a database that was reset to an earlier state.
type holds struct{ store *Store }

// schedules are schedules and their slots, and events.
type schedules struct{ store *Store }

// rows convert parts of checkpoints to rows.
type rows struct{ store *Store }

// subjects are all subjects.
type subjects struct {
	accounts
	access
	approvals
	auditLog
	work
	attention
	retention
	entities
	holds
	schedules
	rows
}

func subjectsOf(s *Store) subjects {
	return subjects{accounts{s}, access{s}, approvals{s}, auditLog{s}, work{s}, attention{s}, retention{s}, entities{s}, holds{s},
		schedules{s}, rows{s}}
}
