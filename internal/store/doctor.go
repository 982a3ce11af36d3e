package store

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/kairosd/kairosd/internal/kairos"
)

// Check is what one examination found.
type Check struct {
	Name     string   `json:"name"`
	Examined int64    `json:"examined"`
	Problems []string `json:"problems"`
}

// maxFindings bounds how many problems one check lists.
const maxFindings = 100

// Doctor examines the database without changing it: SQLite's integrity and
// foreign keys, every journal row's checksum and payloads, gaps in journals,
// and the audit chain.
func (s *Store) Doctor(ctx context.Context) ([]Check, error) {
	var out []Check
	for _, pragma := range []struct{ name, query string }{{"database pages", "PRAGMA integrity_check(100)"}, {"foreign keys", "PRAGMA foreign_key_check"}} {
		c := Check{Name: pragma.name, Problems: []string{}}
		rows, err := s.read.QueryContext(ctx, pragma.query)
		if err != nil {
			return out, translate(err, pragma.name)
		}
		columns, err := rows.Columns()
		if err != nil {
			return out, translate(err, pragma.name)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				return out, translate(err, pragma.name)
			}
			c.Examined++
			text := ""
			for _, v := range values {
				text += fmt.Sprint(*v.(*any)) + " "
			}
			if text != "ok " {
				c.Problems = append(c.Problems, text)
			}
		}
		if err := rows.Err(); err != nil {
			return out, translate(err, pragma.name)
		}
		out = append(out, c)
	}
	journal, err := s.checkJournals(ctx)
	out = append(out, journal)
	if err != nil {
		return out, err
	}
	audit, err := s.VerifyAudit(ctx)
	if err != nil {
		return out, err
	}
	c := Check{Name: "audit chain", Examined: audit.Events, Problems: audit.Problems}
	if c.Problems == nil {
		c.Problems = []string{}
	}
	return append(out, c), nil
}

// checkJournals reads every journal row of every run.
func (s *Store) checkJournals(ctx context.Context) (Check, error) {
	c := Check{Name: "journal rows", Problems: []string{}}
	after := int64(0)
	for {
		rows, err := s.read.QueryContext(ctx, "SELECT id, public_id, last_seq FROM runs WHERE id > ? AND purged_at = 0 ORDER BY id LIMIT 200", after)
		if err != nil {
			return c, translate(err, "read runs")
		}
		type item struct {
			run  string
			last int64
		}
		var batch []item
		for rows.Next() {
			var it item
			if err := rows.Scan(&after, &it.run, &it.last); err != nil {
				return c, translate(err, "read runs")
			}
			batch = append(batch, it)
		}
		if err := rows.Err(); err != nil {
			return c, translate(err, "read runs")
		}
		if len(batch) == 0 {
			return c, nil
		}
		for _, it := range batch {
			journal, err := s.Journal(ctx, it.run, 0)
			c.Examined += int64(len(journal))
			switch {
			case err != nil && kairos.CodeOf(err) == kairos.CodeCorrupt:
				c.Problems = append(c.Problems, err.Error())
			case err != nil:
				return c, err
			case int64(len(journal)) < it.last:
				c.Problems = append(c.Problems, fmt.Sprintf("run %s: journal ends at %d, the run is at %d", it.run, len(journal), it.last))
			}
			if len(c.Problems) >= maxFindings {
				return c, nil
			}
		}
	}
}

// Backup writes a consistent copy to a new file and checks it. The file appears
// under its name only when it is complete, verified and on disk.
func (s *Store) Backup(ctx context.Context, path string) error {
	temp := path + ".partial"
	if err := os.Remove(temp); err != nil && !os.IsNotExist(err) {
		return kairos.Errorf(kairos.CodeUnavailable, "backup: %w", err)
	}
	err := s.backup(ctx, temp)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return fmt.Errorf("backup: %w", joinRemove(err, temp))
	}
	return syncDir(filepath.Dir(path))
}

func joinRemove(err error, path string) error {
	if removeErr := os.Remove(path); removeErr != nil && !os.IsNotExist(removeErr) {
		return fmt.Errorf("%w (and %s)", err, removeErr)
	}
	return err
}

func (s *Store) backup(ctx context.Context, path string) error {
	// VACUUM INTO works on a connection of its own: the readers' are query-only.
	source, err := openPlain(s.path, "")
	if err != nil {
		return err
	}
	defer source.Close()
	if _, err := source.ExecContext(ctx, "VACUUM INTO ?", path); err != nil {
		return translate(err, "copy the database")
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return err
	}
	copied, err := openPlain(path, "&mode=ro")
	if err != nil {
		return err
	}
	defer copied.Close()
	var result string
	if err := copied.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&result); err != nil {
		return translate(err, "check the copy")
	}
	if result != "ok" {
		return kairos.Errorf(kairos.CodeCorrupt, "the copy fails its check: %s", result)
	}
	return nil
}

func fileURL(path string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}
