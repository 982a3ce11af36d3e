package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
)

// Salvaged says what could be saved from a damaged database.
type Salvaged struct {
	Path   string           `json:"path"`   // of the new database
	Copied map[string]int64 `json:"copied"` // rows by table
	Lost   map[string]int64 `json:"lost"`   // rows that were read and refused, or that could not be read
	// Findings say what was refused, and what is wrong with what was saved.
	Findings []string `json:"findings"`
}

// salvageTables are copied in this order: what others refer to comes first.
var salvageTables = []string{"settings", "plans", "plan_facts", "plan_versions", "runs", "run_details", "run_labels", "run_uses", "run_outcomes", "failure_acks", "run_notes",
	"preferences", "payloads", "payload_refs", "step_results", "handoffs", "messages", "memory", "skill_runs", "approvals", "audit_events", "users", "tokens"}

// salvageWindow is how many rows are read at once before a damaged page makes
// it go row by row.
const salvageWindow = 200

// blindWindows is how many windows in a row may be unreadable before a table
// whose end is not known is given up: its root is gone.
const blindWindows = 10

// Salvage copies every row that can be read and whose checksum fits into a new
// database in a new directory, and says what was lost. The damaged file is only
// read. All unfinished runs of the new database are held; those whose journals
// have gaps cannot go on.
func Salvage(ctx context.Context, damaged, dir string, o Options) (Salvaged, error) {
	out, err := salvage(ctx, damaged, dir, o)
	if err != nil {
		return out, fmt.Errorf("salvage: %w", err)
	}
	return out, nil
}

func salvage(ctx context.Context, damaged, dir string, o Options) (r Salvaged, err error) {
	r = Salvaged{Path: filepath.Join(dir, filepath.Base(damaged)), Copied: map[string]int64{}, Lost: map[string]int64{}, Findings: []string{}}
	if err := driverSetup(); err != nil {
		return r, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return r, kairos.Errorf(kairos.CodeInvalid, "the directory for what is saved must be a new one: %w", err)
	}
	for _, suffix := range []string{".key", ".anchor"} {
		if err := copyFile(damaged+suffix, r.Path+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	fresh, err := Open(ctx, r.Path, o)
	if err != nil {
		return r, err
	}
	if err := fresh.Close(); err != nil {
		return r, err
	}
	from, err := openPlain(damaged, "&mode=ro&_query_only=1&_pragma=cell_size_check(1)")
	if err != nil {
		return r, err
	}
	defer from.Close()
	to, err := openPlain(r.Path, "&_pragma=foreign_keys(0)&_pragma=journal_mode(DELETE)")
	if err != nil {
		return r, err
	}
	defer to.Close()
	c := &salvager{from: from, to: to, r: &r, runs: map[int64]string{}}
	for _, table := range salvageTables {
		if err := c.table(ctx, table); err != nil {
			return r, err
		}
	}
	if err := c.finish(ctx); err != nil {
		return r, err
	}
	if err := to.Close(); err != nil {
		return r, err
	}
	o.Restored = filepath.Base(damaged)
	s, err := Open(ctx, r.Path, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	checks, err := s.Verify(ctx)
	for _, check := range checks {
		for _, p := range check.Problems {
			r.Findings = append(r.Findings, check.Name+": "+p)
		}
	}
	return r, err
}

// salvager copies rows one by one between two databases.
type salvager struct {
	from, to *sql.DB
	r        *Salvaged
	runs     map[int64]string // row id → public id, for checksums
}

func (c *salvager) lost(table string, n int64, format string, args ...any) {
	c.r.Lost[table] += n
	if len(c.r.Findings) < 10*maxFindings {
		c.r.Findings = append(c.r.Findings, table+": "+fmt.Sprintf(format, args...))
	}
}

// table copies one table; what is wrong with its rows is no error.
func (c *salvager) table(ctx context.Context, name string) error {
	columns, keys, err := c.columns(ctx, name)
	if err != nil {
		return err
	}
	insert, err := c.to.PrepareContext(ctx, "INSERT OR REPLACE INTO "+name+" ("+strings.Join(columns, ", ")+") VALUES ("+marks(len(columns))+")")
	if err != nil {
		return translate(err, "prepare "+name)
	}
	defer insert.Close()
	read := "SELECT " + strings.Join(columns, ", ") + " FROM " + name
	note := func(refused []string) {
		for _, why := range refused {
			c.lost(name, 1, "%s", why)
		}
	}
	if len(keys) > 0 { // without row ids: from both ends, as far as it goes
		order := " ORDER BY " + strings.Join(keys, ", ")
		refused, err := c.copy(ctx, name, columns, insert, read+order)
		note(refused)
		if err != nil {
			c.lost(name, 1, "%s", err)
			if _, err := c.copy(ctx, name, columns, insert, read+order+" DESC"); err != nil {
				c.lost(name, 0, "from its end: %s", err)
			}
		}
		return nil
	}
	var last, blind int64
	guessed := false
	if err := c.from.QueryRowContext(ctx, "SELECT coalesce(max(rowid), 0) FROM "+name).Scan(&last); err != nil {
		c.lost(name, 0, "its last row cannot be found: %s", err)
		last, guessed = 1<<20, true
	}
	for low := int64(0); low < last; low += salvageWindow {
		refused, err := c.copy(ctx, name, columns, insert, read+" WHERE rowid > ? AND rowid <= ?", low, low+salvageWindow)
		if err == nil {
			note(refused)
			blind = 0
			continue
		}
		if blind++; guessed && blind > blindWindows {
			c.lost(name, 1, "nothing from row %d on can be read", low+1-blindWindows*salvageWindow)
			return nil
		}
		for id := low + 1; id <= min(low+salvageWindow, last); id++ {
			refused, err := c.copy(ctx, name, columns, insert, read+" WHERE rowid = ?", id)
			note(refused)
			if err != nil {
				c.lost(name, 1, "row %d cannot be read: %s", id, err)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// columns lists a table's columns, and its key if it has no row ids, as this
// binary's schema has them.
func (c *salvager) columns(ctx context.Context, name string) (columns, keys []string, err error) {
	rows, err := c.to.QueryContext(ctx, "SELECT name, pk FROM pragma_table_info(?)", name)
	if err != nil {
		return nil, nil, translate(err, "read the schema")
	}
	defer rows.Close()
	for rows.Next() {
		var column string
		var pk int
		if err := rows.Scan(&column, &pk); err != nil {
			return nil, nil, translate(err, "read the schema")
		}
		columns = append(columns, column)
		if pk > 0 {
			keys = append(keys, column)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, nil, translate(err, "read the schema")
	}
	var without bool
	if err := c.to.QueryRowContext(ctx, "SELECT wr FROM pragma_table_list WHERE name = ?", name).Scan(&without); err != nil {
		return nil, nil, translate(err, "read the schema")
	}
	if !without {
		keys = nil
	}
	return columns, keys, nil
}

// copy copies the rows of one query and says which it refused; an error says that
// reading did not come to its end. What was read before is kept; rows that are
// copied again change nothing.
func (c *salvager) copy(ctx context.Context, name string, columns []string, insert *sql.Stmt, query string, args ...any) (refused []string, err error) {
	rows, err := c.from.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	tx, err := c.to.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tx.Commit()) }()
	in := tx.StmtContext(ctx, insert)
	defer in.Close()
	values := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return refused, err
		}
		if why := c.refused(name, columns, values); why != "" {
			refused = append(refused, why)
		} else if _, err := in.ExecContext(ctx, values...); err != nil {
			refused = append(refused, fmt.Sprintf("a row does not fit: %s", err))
		}
	}
	return refused, rows.Err()
}

// refused says why a row is not what was written; empty: it is, as far as can be
// told.
func (c *salvager) refused(name string, columns []string, values []any) string {
	get := func(column string) any { return values[slices.Index(columns, column)] }
	switch name {
	case "runs":
		id, ok := get("id").(int64)
		public, isText := get("public_id").(string)
		if !ok || !isText || !kairos.ValidID(public) {
			return "a run has no id"
		}
		c.runs[id] = public
	case "step_results":
		f := fields{}
		for _, column := range strings.Split(strings.ReplaceAll(strings.ReplaceAll(stepColumns, "s.", ""), "\n", " "), ",") {
			f.values = append(f.values, get(strings.TrimSpace(column)))
		}
		row := stepOf(&f)
		run, known := c.runs[row.RunID]
		switch {
		case !known:
			return fmt.Sprintf("row %d belongs to run %d, which is lost", row.Seq, row.RunID)
		case f.err != nil || string(rowHash(run, &row)) != string(row.Hash):
			return fmt.Sprintf("row %d of run %s fails its checksum", row.Seq, run)
		}
	case "payloads":
		hash, _ := get("hash").([]byte)
		encoding, _ := get("encoding").(string)
		data, _ := get("data").([]byte)
		size, _ := get("size").(int64)
		if _, err := unpack(hash, encoding, data, size); err != nil {
			return err.Error()
		}
	}
	return ""
}

// finish removes rows whose parents are lost and counts what there is.
func (c *salvager) finish(ctx context.Context) error {
	var kept string
	if err := c.to.QueryRowContext(ctx, "SELECT sql FROM sqlite_schema WHERE name = 'step_results_are_kept'").Scan(&kept); err != nil {
		return translate(err, "read the schema")
	}
	for _, text := range []string{
		"DROP TRIGGER step_results_are_kept",
		"DELETE FROM plan_versions WHERE plan_id NOT IN (SELECT id FROM plans)",
		"DELETE FROM runs WHERE version_id NOT IN (SELECT id FROM plan_versions) OR plan_id NOT IN (SELECT id FROM plans)",
		"INSERT INTO run_details (run_id) SELECT id FROM runs WHERE id NOT IN (SELECT run_id FROM run_details)",
		"DELETE FROM run_details WHERE run_id NOT IN (SELECT id FROM runs)",
		"DELETE FROM run_uses WHERE run_id NOT IN (SELECT id FROM runs)",
		"DELETE FROM run_outcomes WHERE plan_id NOT IN (SELECT id FROM plans)",
		"DELETE FROM plan_facts WHERE plan_id NOT IN (SELECT id FROM plans)",
		"DELETE FROM failure_acks WHERE plan_id NOT IN (SELECT id FROM plans)",
		"DELETE FROM run_notes WHERE run_id NOT IN (SELECT id FROM runs)",
		"DELETE FROM run_labels WHERE run_id NOT IN (SELECT id FROM runs)",
		"DELETE FROM payload_refs WHERE run_id NOT IN (SELECT id FROM runs) OR hash NOT IN (SELECT hash FROM payloads)",
		"DELETE FROM step_results WHERE run_id NOT IN (SELECT id FROM runs)",
		"DELETE FROM handoffs WHERE run_id NOT IN (SELECT id FROM runs)",
		"DELETE FROM messages WHERE run_id NOT IN (SELECT id FROM runs)",
		"DELETE FROM memory WHERE run_id NOT IN (SELECT id FROM runs)",
		"DELETE FROM approvals WHERE run_id NOT IN (SELECT id FROM runs)",
		kept,
		"DELETE FROM run_counts",
		"INSERT INTO run_counts (status, wait_reason, n) SELECT status, " + countedAs + ", count(*) FROM runs WHERE deleted_at = 0 AND origin <> 'dry' GROUP BY 1, 2",
		addWordsSQL,
	} {
		if _, err := c.to.ExecContext(ctx, text); err != nil {
			return translate(err, "put what was saved in order")
		}
	}
	for _, table := range salvageTables {
		var n int64
		if err := c.to.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			return translate(err, "count "+table)
		}
		c.r.Copied[table] = n
	}
	return nil
}
