package recovery

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// Verify checks everything in the database file, without changing it.
func Verify(ctx context.Context, opened *store.Store) ([]domain.Check, error) {
	s := of(opened)
	var out []domain.Check
	for _, check := range []func(context.Context, *domain.Check) error{s.checkPages, s.checkForeignKeys, s.checkRuns, s.checkStates,
		s.checkJournals,
		s.checkApprovals, s.checkPayloads, s.checkMemory, s.checkCounters, s.VerifyAccess, s.checkAudit} {
		c := domain.Check{Problems: []string{}}
		err := check(ctx, &c)
		if len(c.Problems) == 0 {
			c.Advice = ""
		}
		out = append(out, c)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

const adviceDamage = "the file is damaged. Stop kairosd, keep all its files, and restore the newest backup (kairosd restore)"

func (s *database) checkPages(ctx context.Context, c *domain.Check) error {
	c.Name, c.Advice = "database pages", adviceDamage
	tx, err := s.db.Read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return core.Translate(err, c.Name)
	}
	defer tx.Rollback()
	// The check of a full-text index uses cached data of the connection, which a query refreshes.
	// Without that, it reports later writes of other connections as damage.
	for _, index := range []string{"run_words", "memory_words"} {
		var found int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM "+index+" WHERE "+index+" MATCH 'kairos'").Scan(&found); err != nil {
			core.Find(c, "%s: %v", index, err)
		}
	}
	rows, err := tx.QueryContext(ctx, "PRAGMA integrity_check(100)")
	if err != nil {
		return core.Translate(err, c.Name)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return core.Translate(err, c.Name)
		}
		if text != "ok" {
			core.Find(c, "%s", text)
		}
	}
	if err := rows.Err(); err != nil {
		return core.Translate(err, c.Name)
	}
	return core.Translate(tx.QueryRowContext(ctx, "PRAGMA page_count").Scan(&c.Checked), c.Name)
}

func (s *database) checkForeignKeys(ctx context.Context, c *domain.Check) error {
	c.Name, c.Advice = "foreign keys", adviceDamage
	rows, err := s.db.Read.QueryContext(ctx, "PRAGMA foreign_key_check")
	if err != nil {
		return core.Translate(err, c.Name)
	}
	defer rows.Close()
	for rows.Next() {
		var table, parent string
		var row sql.NullInt64
		var key int64
		if err := rows.Scan(&table, &row, &parent, &key); err != nil {
			return core.Translate(err, c.Name)
		}
		core.Find(c, "row %d of %s refers to a missing row of %s", row.Int64, table, parent)
	}
	return core.Translate(rows.Err(), c.Name)
}

// checkRuns checks the stored data of each run other than its journal: that it exists, and that it
// is intact as far as its form shows.
func (s *database) checkRuns(ctx context.Context, c *domain.Check) error {
	c.Name, c.Advice = "runs", "restore the newest backup; the listed runs cannot continue, so start their plans again"
	last, err := s.db.Q.RunLast(ctx)
	if err != nil {
		return core.Translate(err, c.Name)
	}
	for low := int64(0); low < last; low += verifyWindow {
		err := s.db.EachRow(ctx, dbsqlc.CheckRuns, core.Ordinals(low, low+verifyWindow), func(v []driver.Value) error {
			row := core.Fields{Values: v}
			id := row.Text()
			d := dbsqlc.RunDetail{
				Limits:      row.Text(),
				Labels:      row.Text(),
				GivenLabels: row.Text(),
				Parent:      row.TextOrNull(),
				Concurrency: row.TextOrNull(),
			}
			c.Checked++
			for _, p := range core.Run(&dbsqlc.Run{}, &d, "", "", 0, "").Damaged {
				core.FindOf(c, id, "run %s: %s: %s", id, p.Part, p.Message)
			}
			for _, what := range []string{"input", "output"} {
				if text := row.TextOrNull(); text != nil && !strings.HasPrefix(*text, core.PayloadMark) && !json.Valid([]byte(*text)) {
					core.FindOf(c, id, "run %s: %s: not valid JSON", id, what)
				}
			}
			return row.Err
		})
		if err != nil {
			return core.Translate(err, c.Name)
		}
	}
	return nil
}

// verifyWindow is how many runs one snapshot of the journals covers: a longer snapshot would
// prevent the write-ahead log from being emptied.
const verifyWindow = 200

// checkJournals checks every journal row: its checksum, its number, that the values it refers to
// belong to its run, and that no visit has two outcomes.
func (s *database) checkJournals(ctx context.Context, c *domain.Check) error {
	c.Name, c.Advice = "journal rows", "restore the newest backup, or fork the listed runs from before the damaged row"
	last, err := s.db.Q.RunLast(ctx)
	if err != nil {
		return core.Translate(err, c.Name)
	}
	for low := int64(0); low < last; low += verifyWindow {
		if err := s.checkJournalsOf(ctx, c, low, low+verifyWindow); err != nil {
			return err
		}
	}
	return nil
}

type outcomeKey struct {
	node        string
	visit, item int64
}

func (s *database) checkJournalsOf(ctx context.Context, c *domain.Check, low, high int64) error {
	type journal struct {
		run     string
		at, end int64
	}
	runs := map[int64]*journal{}
	order := make([]*journal, 0, verifyWindow)
	if err := s.db.EachRow(ctx, dbsqlc.CheckJournalRuns, core.Ordinals(low, high), func(v []driver.Value) error {
		f := core.Fields{Values: v}
		id := f.Int()
		runs[id] = &journal{run: f.Text(), end: f.Int()}
		order = append(order, runs[id])
		return f.Err
	}); err != nil {
		return core.Translate(err, c.Name)
	}
	outcomes, last := map[outcomeKey]int64{}, int64(0)
	if err := s.db.EachRow(ctx, dbsqlc.CheckSteps, core.Ordinals(low, high), func(v []driver.Value) error {
		f := core.Fields{Values: v}
		row := core.StepOf(&f)
		j := runs[row.RunID]
		if f.Err != nil || j == nil { // of a purged run whose rows are being deleted now
			return f.Err
		}
		if row.RunID != last {
			last = row.RunID
			clear(outcomes)
		}
		c.Checked++
		if row.Seq != j.at+1 {
			core.FindOf(c, j.run, "run %s: row %d is followed by row %d", j.run, j.at, row.Seq)
		}
		j.at = row.Seq
		if string(core.RowHash(j.run, &row)) != string(row.Hash) {
			core.FindOf(c, j.run, "run %s: row %d fails its checksum", j.run, row.Seq)
			return nil
		}
		switch {
		case row.Kind == string(domain.EntryReset), row.Kind == string(domain.EntryReplan):
			clear(outcomes) // later rows decide some visits again
		case row.Kind == string(domain.EntryResult) && row.Final != 0:
			k := outcomeKey{row.Node, row.Visit, row.Item}
			if first := outcomes[k]; first != 0 {
				core.FindOf(c, j.run, "run %s: visit %d of node %s has two outcomes, rows %d and %d", j.run, row.Visit, row.Node,
					first, row.Seq)
			}
			outcomes[k] = row.Seq
		}
		return nil
	}); err != nil {
		return core.Translate(err, c.Name)
	}
	for _, j := range order {
		if j.at < j.end { // it may have grown between the two reads
			core.FindOf(c, j.run, "run %s: the journal ends at row %d, the run is at %d", j.run, j.at, j.end)
		}
	}
	return nil
}

// checkPayloads reads every stored value, and finds rows that refer to a missing one.
func (s *database) checkPayloads(ctx context.Context, c *domain.Check) error {
	c.Name, c.Advice = "values", adviceDamage
	for after := int64(0); ; {
		rows, err := s.db.Q.PayloadScan(ctx, after, 100)
		if err != nil {
			return core.Translate(err, c.Name)
		}
		if len(rows) == 0 {
			break
		}
		for _, p := range rows {
			after = p.ID
			c.Checked++
			mark := core.PayloadMark + hex.EncodeToString(p.Hash)
			if _, err := s.db.Fetch(ctx, &mark); domain.CodeOf(err) == domain.CodeCorrupt {
				if err := s.findPayload(ctx, c, p.Hash, err); err != nil {
					return err
				}
			} else if err != nil {
				return err
			}
		}
	}
	rows, err := s.db.Q.CheckPayloadRefs(ctx)
	for _, r := range rows {
		core.FindOf(c, r.PublicID, "run %s: row %d refers to the missing value %.12x", r.PublicID, r.Seq, r.Hash)
	}
	return core.Translate(err, c.Name)
}

// findPayload adds the problem of a stored value, with the unfinished runs that refer to it.
func (s *database) findPayload(ctx context.Context, c *domain.Check, hash []byte, problem error) error {
	core.Find(c, "%s", problem)
	runs, err := s.db.Q.UnfinishedRunsOfPayload(ctx, hash, int64(core.MaxFoundRuns-min(len(c.Runs), core.MaxFoundRuns)))
	if err != nil {
		return core.Translate(err, c.Name)
	}
	for _, run := range runs {
		if !slices.Contains(c.Runs, run) {
			c.Runs = append(c.Runs, run)
		}
	}
	return nil
}

// CheckCounters is the name of the check of the counters.
const CheckCounters = "counters"

// checkCounters compares the stored counters with actual counts.
func (s *database) checkCounters(ctx context.Context, c *domain.Check) error {
	c.Name, c.Advice = CheckCounters, "run counts on the dashboard are wrong; the runs are not affected. A running kairosd "+
		"corrects them after its weekly integrity check. To correct them now, stop kairosd and run kairosd doctor --repair"
	rows, err := s.db.Q.RunCountsCheck(ctx)
	for _, r := range rows {
		c.Checked++
		if r.Counted != r.Found {
			core.Find(c, "%d runs are %s, but the counter is %d", r.Found, strings.TrimSpace(r.Status+" "+r.WaitReason), r.Counted)
		}
	}
	return core.Translate(err, c.Name)
}

// checkAuditName is the name of the check of the audit chain.
const checkAuditName = "audit chain"

func (s *database) checkAudit(ctx context.Context, c *domain.Check) error {
	c.Name, c.Advice = checkAuditName, "the audit log was changed, or the key file is not the one it was written with. "+
		"Compare it with a backup first"
	r, err := s.VerifyAudit(ctx)
	c.Checked = r.Events
	for _, p := range r.Problems {
		core.Find(c, "%s", p)
	}
	return err
}
