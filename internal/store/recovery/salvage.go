package recovery

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"

	lib "modernc.org/sqlite/lib"

	"github.com/kairosd/kairosd/internal/domain"
)

// Salvaged is the result of Salvage.
type Salvaged struct {
	Path   string           `json:"path"`   // of the new database
	Copied map[string]int64 `json:"copied"` // rows by table
	Lost   map[string]int64 `json:"lost"`   // rows that failed a check, or that could not be read
	// Findings lists rows that failed a check, and problems of the salvaged rows.
	Findings []string `json:"findings"`
}

// notSalvaged are tables that are created again instead of copied, and why.
var notSalvaged = map[string]string{
	"goose_db_version": "the new database has its own",
	"run_counts":       "counted again",
	"run_words":        "indexed again",
	"memory_words":     "indexed again",
	"sessions":         "users log in again, because a salvaged session could be one that was ended",
}

// salvageWindow is how many row ids are read at once.
const salvageWindow = 200

// Salvage copies every row that can be read and has a correct checksum into a new database in a
// new directory, and lists what was lost. The damaged file is only read. All unfinished runs of
// the new database are held; runs with gaps in their journals cannot continue.
func Salvage(ctx context.Context, damaged, dir string, o store.Options) (Salvaged, error) {
	out, err := salvage(ctx, damaged, dir, o)
	if err != nil {
		return out, fmt.Errorf("salvage: %w", err)
	}
	return out, nil
}

func salvage(ctx context.Context, damaged, dir string, o store.Options) (r Salvaged, err error) {
	r = Salvaged{
		Path:     filepath.Join(dir, filepath.Base(damaged)),
		Copied:   map[string]int64{},
		Lost:     map[string]int64{},
		Findings: []string{},
	}
	if err := core.DriverSetup(); err != nil {
		return r, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return r, domain.Errorf(domain.CodeInvalid, "the salvage directory must not exist: %w", err)
	}
	if err := copyFile(damaged+".key", r.Path+".key"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	fresh, err := store.Open(ctx, r.Path, o)
	if err != nil {
		return r, err
	}
	if err := fresh.Close(); err != nil {
		return r, err
	}
	// After that, because the anchor of another database would hold the new one.
	if err := os.Remove(r.Path + ".anchor"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if err := copyFile(damaged+".anchor", r.Path+".anchor"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	from, err := core.OpenPlain(damaged, "&mode=ro&_query_only=1&_pragma=cell_size_check(1)")
	if err != nil {
		return r, err
	}
	defer from.Close()
	to, err := core.OpenPlain(r.Path, "&_pragma=foreign_keys(0)&_pragma=journal_mode(DELETE)")
	if err != nil {
		return r, err
	}
	defer to.Close()
	c := &salvager{from: from, to: to, r: &r, runs: map[int64]string{}}
	if err := c.all(ctx); err != nil {
		return r, err
	}
	if err := to.Close(); err != nil {
		return r, err
	}
	o.Restored = filepath.Base(damaged)
	s, err := store.Open(ctx, r.Path, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	checks, err := Verify(ctx, s)
	for _, check := range checks {
		for _, p := range check.Problems {
			r.Findings = append(r.Findings, core.Printable(check.Name+": "+p))
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
	if len(c.r.Findings) < 10*core.MaxFindings {
		c.r.Findings = append(c.r.Findings, core.Printable(table+": "+fmt.Sprintf(format, args...)))
	}
}

// all copies every table. Triggers are dropped in the meantime: they maintain indexes that are
// rebuilt at the end, and forbid removing rows whose parents are lost.
func (c *salvager) all(ctx context.Context) error {
	triggers, err := c.texts(ctx, "SELECT name FROM sqlite_schema WHERE type = 'trigger'")
	if err != nil {
		return err
	}
	again, err := c.texts(ctx, "SELECT sql FROM sqlite_schema WHERE type = 'trigger'")
	if err != nil {
		return err
	}
	tables, err := c.tables(ctx)
	if err != nil {
		return err
	}
	for _, name := range triggers {
		if err := c.exec(ctx, "DROP TRIGGER "+name); err != nil {
			return err
		}
	}
	for _, name := range tables {
		if err := c.table(ctx, name); err != nil {
			return err
		}
	}
	for table, why := range notSalvaged {
		var n int64
		if err := c.from.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n); table == "sessions" && err == nil && n > 0 {
			c.lost(table, n, "%d rows are not copied: %s", n, why)
		}
	}
	if err := c.removeOrphans(ctx, tables); err != nil {
		return err
	}
	for _, text := range append([]string{
		"INSERT INTO run_details (run_id) SELECT id FROM runs WHERE id NOT IN (SELECT run_id FROM run_details)",
		dbsqlc.RunCountsFill,
		core.AddWordsSQL,
		"INSERT INTO memory_words (memory_words) VALUES ('rebuild')",
	}, again...) {
		if err := c.exec(ctx, text); err != nil {
			return err
		}
	}
	for _, table := range tables {
		var n int64
		if err := c.to.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			return core.Translate(err, "count "+table)
		}
		c.r.Copied[table] = n
	}
	return nil
}

func (c *salvager) exec(ctx context.Context, text string) error {
	_, err := c.to.ExecContext(ctx, text)
	return core.Translate(err, "put what was saved in order")
}

// texts reads a column of text from the new database.
func (c *salvager) texts(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := c.to.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, core.Translate(err, "read the schema")
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, core.Translate(err, "read the schema")
		}
		out = append(out, text)
	}
	return out, core.Translate(rows.Err(), "read the schema")
}

// tables lists the tables to copy: runs first, because checksums of other rows need them.
func (c *salvager) tables(ctx context.Context) ([]string, error) {
	names, err := c.texts(
		ctx,
		"SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT GLOB 'sqlite_*' ORDER BY "+
			"name <> 'runs', name",
	)
	return slices.DeleteFunc(names, func(name string) bool { return notSalvaged[name] != "" }), err
}

// removeOrphans removes rows whose parents are lost, and their dependents.
func (c *salvager) removeOrphans(ctx context.Context, tables []string) error {
	for again := true; again; {
		again = false
		for _, table := range tables {
			keys, err := c.texts(
				ctx,
				`SELECT "from" || ' IS NOT NULL AND ' || "from" || ' NOT IN (SELECT ' || "to" || ' FROM ' || "table" || ')' `+
					`FROM pragma_foreign_key_list(?)`,
				table,
			)
			if err != nil {
				return err
			}
			for _, missing := range keys {
				done, err := c.to.ExecContext(ctx, "DELETE FROM "+table+" WHERE "+missing)
				if err != nil {
					return core.Translate(err, "remove rows of "+table)
				}
				n, err := done.RowsAffected()
				if err != nil {
					return err
				}
				if n > 0 {
					again = true
					_, parent, _ := strings.Cut(missing, " FROM ")
					c.lost(table, n, "%d rows refer to lost rows of %s", n, strings.TrimSuffix(parent, ")"))
				}
			}
		}
	}
	return nil
}

// table copies one table; damaged rows cause no error.
func (c *salvager) table(ctx context.Context, name string) error {
	columns, keys, err := c.columns(ctx, name)
	if err != nil {
		return err
	}
	conflict := " ON CONFLICT DO NOTHING"
	if name == "settings" { // the new database has some already, and its own migrations
		conflict = " ON CONFLICT DO UPDATE SET value = excluded.value WHERE key NOT GLOB '" + core.SettingMigration + "*'"
	}
	insert, err := c.to.PrepareContext(
		ctx,
		"INSERT INTO "+name+" ("+strings.Join(columns, ", ")+") VALUES ("+core.Marks(len(columns))+")"+conflict,
	)
	if err != nil {
		return core.Translate(err, "prepare "+name)
	}
	defer insert.Close()
	t := &salvageTable{
		salvager: c,
		name:     name,
		columns:  columns,
		insert:   insert,
		read:     "SELECT rowid, " + strings.Join(columns, ", ") + " FROM " + name,
	}
	if t.byID = len(keys) == 0; t.byID {
		return t.byRowID(ctx)
	}
	// Without row ids: read from both ends, up to the damage.
	t.read = strings.Replace(t.read, "rowid", "0", 1) + " ORDER BY " + strings.Join(keys, ", ")
	if damage, err := t.copy(ctx, t.read); err != nil || damage == nil {
		return err
	} else {
		c.lost(name, 1, "%s", damage)
	}
	if damage, err := t.copy(ctx, t.read+" DESC"); err != nil {
		return err
	} else if damage != nil {
		c.lost(name, 0, "from its end: %s", damage)
	}
	return nil
}

// salvageTable is a table that is being copied.
type salvageTable struct {
	*salvager
	name, read string
	columns    []string
	insert     *sql.Stmt
	byID       bool  // it has row ids, and no row is read twice
	last       int64 // row id of the last row that was read
}

// byRowID copies a table with row ids. A damaged page makes all rows on it unreadable. After it,
// byRowID probes in growing steps for a readable row, and then narrows the gap.
func (t *salvageTable) byRowID(ctx context.Context) error {
	end, guessed, err := t.end(ctx)
	if err != nil {
		return err
	}
	for at := int64(0); at < end; {
		t.last = at
		high := min(at+salvageWindow, end)
		damage, err := t.copy(ctx, t.read+" WHERE rowid >= ? AND rowid <= ?", at+1, high)
		if err != nil {
			return err
		}
		if damage == nil {
			at = high
			continue
		}
		next, err := t.readable(ctx, t.last, end)
		if err != nil {
			return err
		}
		switch n := next - t.last; {
		case next >= end && guessed:
			t.lost(t.name, 1, "no row after %d can be read: %s", t.last, damage)
		case n == 1:
			t.lost(t.name, 1, "row %d cannot be read: %s", next, damage)
		default:
			t.lost(t.name, n, "rows %d to %d cannot be read: %s", t.last+1, next, damage)
		}
		at = next
	}
	return nil
}

// end returns the last row id. If that cannot be read, it returns an upper bound for a file of
// this size.
func (t *salvageTable) end(ctx context.Context) (end int64, guessed bool, err error) {
	damage := t.from.QueryRowContext(ctx, "SELECT coalesce(max(rowid), 0) FROM "+t.name).Scan(&end)
	if damage == nil || ctx.Err() != nil {
		return end, false, ctx.Err()
	}
	t.lost(t.name, 0, "cannot find the last row: %s", damage)
	var pages int64
	if err := t.from.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages); err != nil {
		pages = 0
	}
	return max(1<<20, 500*pages), true, nil
}

// readable returns the next row id after bad from which rows can be read; none can in between.
func (t *salvageTable) readable(ctx context.Context, bad, end int64) (int64, error) {
	opens := func(id int64) bool {
		var found int64
		err := t.from.QueryRowContext(ctx, "SELECT rowid FROM "+t.name+" WHERE rowid >= ? AND rowid <= ? LIMIT 1", id+1, end).Scan(&found)
		return err == nil || errors.Is(err, sql.ErrNoRows)
	}
	low, high := bad, bad+1
	for ; high < end && !opens(high); high += min(high-bad, 64+(high-bad)/16) {
		low = high
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	high = min(high, end)
	for low+1 < high {
		if middle := low + (high-low)/2; opens(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high, ctx.Err()
}

// columns lists a table's columns, and its key if it has no row ids, as this
// binary's schema has them.
func (c *salvager) columns(ctx context.Context, name string) (columns, keys []string, err error) {
	rows, err := c.to.QueryContext(ctx, "SELECT name, pk FROM pragma_table_info(?)", name)
	if err != nil {
		return nil, nil, core.Translate(err, "read the schema")
	}
	defer rows.Close()
	for rows.Next() {
		var column string
		var pk int
		if err := rows.Scan(&column, &pk); err != nil {
			return nil, nil, core.Translate(err, "read the schema")
		}
		columns = append(columns, column)
		if pk > 0 {
			keys = append(keys, column)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, nil, core.Translate(err, "read the schema")
	}
	var without bool
	if err := c.to.QueryRowContext(ctx, "SELECT wr FROM pragma_table_list WHERE name = ?", name).Scan(&without); err != nil {
		return nil, nil, core.Translate(err, "read the schema")
	}
	if !without {
		keys = nil
	}
	return columns, keys, nil
}

// copy copies the rows of one query. damage is why reading ended early; rows read before that are
// kept. err is a failure of the new database.
func (t *salvageTable) copy(ctx context.Context, query string, args ...any) (damage, err error) {
	rows, damage := t.from.QueryContext(ctx, query, args...)
	if damage != nil {
		return damage, ctx.Err()
	}
	defer rows.Close()
	tx, err := t.to.BeginTx(ctx, nil)
	if err != nil {
		return nil, core.Translate(err, "write "+t.name)
	}
	defer func() { err = errors.Join(err, core.Translate(tx.Commit(), "write "+t.name)) }()
	in := tx.StmtContext(ctx, t.insert)
	defer in.Close()
	values := make([]any, len(t.columns))
	into := make([]any, 1, len(t.columns)+1)
	into[0] = &t.last
	for i := range values {
		into = append(into, &values[i])
	}
	for rows.Next() {
		if damage := rows.Scan(into...); damage != nil {
			return damage, ctx.Err()
		}
		why := t.refused(t.name, t.columns, values)
		if why == "" {
			done, err := in.ExecContext(ctx, values...)
			if core.Fatal(err) || core.Primary(err) == lib.SQLITE_FULL {
				return nil, core.Translate(err, "write "+t.name)
			} else if err != nil {
				why = fmt.Sprintf("cannot insert a row: %s", err)
			} else if n, err := done.RowsAffected(); err == nil && n == 0 && t.byID {
				why = fmt.Sprintf("row %d has a duplicate key", t.last)
			}
		}
		if why != "" {
			t.lost(t.name, 1, "%s", why)
		}
	}
	return rows.Err(), ctx.Err()
}

// refused returns why a row is not as it was written; empty: it passed the checks.
func (c *salvager) refused(name string, columns []string, values []any) string {
	get := func(column string) any { return values[slices.Index(columns, column)] }
	switch name {
	case "settings":
		key, _ := get("key").(string)
		value, _ := get("value").(string)
		_, badKey := hex.DecodeString(value)
		_, wrongCount := strconv.ParseInt(value, 10, 64)
		if key == "instance_key" && badKey != nil || key == "epoch" && wrongCount != nil {
			return fmt.Sprintf("setting %s is unreadable", key)
		}
	case "runs":
		id, ok := get("id").(int64)
		public, isText := get("public_id").(string)
		if !ok || !isText || !domain.ValidID(public) {
			return "a run has no id"
		}
		c.runs[id] = public
	case "step_results":
		f := core.Fields{}
		for _, column := range core.StepColumns {
			f.Values = append(f.Values, get(column))
		}
		row := core.StepOf(&f)
		run, known := c.runs[row.RunID]
		switch {
		case !known:
			return fmt.Sprintf("row %d belongs to run %d, which is lost", row.Seq, row.RunID)
		case f.Err != nil || string(core.RowHash(run, &row)) != string(row.Hash):
			return fmt.Sprintf("row %d of run %s fails its checksum", row.Seq, run)
		}
	case "payloads":
		hash, _ := get("hash").([]byte)
		encoding, _ := get("encoding").(string)
		data, _ := get("data").([]byte)
		size, _ := get("size").(int64)
		if _, err := core.Unpack(hash, encoding, data, size); err != nil {
			return err.Error()
		}
	}
	return ""
}
