package store

// What the store writes is divided by subject. Each subject is part of the store, and
// reads and writes through it; what is only read is in package query.

// accounts are users, with their second factors, sessions, and tokens.
type accounts struct{ store *Store }

// access seals rows that let somebody in or let something happen, checks them, and signs exports.
type access struct{ store *Store }

// approvals are requests to people.
type approvals struct{ store *Store }

// auditLog is the chain of audit events.
type auditLog struct{ store *Store }

// work is what goes on beside runs: bulk operations, drafts, and deliveries.
type work struct{ store *Store }

// attention is what people know of failed runs.
type attention struct{ store *Store }

// retention removes what is old, and measures what takes room.
type retention struct{ store *Store }

// entities are plans, settings, and what is kept of tools and sessions.
type entities struct{ store *Store }

// holds keep a database from being executed that went back in time.
type holds struct{ store *Store }

// rows turn parts of checkpoints into rows.
type rows struct{ store *Store }

// subjects are all of them.
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
	rows
}

func subjectsOf(s *Store) subjects {
	return subjects{accounts{s}, access{s}, approvals{s}, auditLog{s}, work{s}, attention{s}, retention{s}, entities{s}, holds{s}, rows{s}}
}
