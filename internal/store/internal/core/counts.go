package core

// What stands in the counters for the reason: of failed runs that somebody took
// note of, of runs that are tried again and again, and of those that work without
// a sign of life.
const (
	Acknowledged = "acknowledged"
	Stubborn     = "stubborn"
	Silent       = "silent"
)

// CountedAs is the reason under which a run is counted, as SQL; see countOf.
const CountedAs = `CASE WHEN status = 'failed' AND attention = 0 THEN '` + Acknowledged + `' WHEN status = 'running' AND attention = 1 THEN '` + Silent +
	`' WHEN wait_reason = 'retry' AND attention = 1 THEN '` + Stubborn + `' ELSE wait_reason END`

// RecountSQL fills the counters of runs.
const RecountSQL = "INSERT INTO run_counts (status, wait_reason, n) SELECT status, " + CountedAs + ", count(*) FROM runs WHERE deleted_at = 0 AND origin <> 'dry' GROUP BY 1, 2"
