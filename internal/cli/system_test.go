package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// O12: a disk that fills is said on every page before it is full.
func TestADiskThatFillsIsSaid(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for name, c := range map[string]struct {
		free, disk, database int64
		nearly, full         bool
	}{
		"half":                           {50 * gib, 100 * gib, gib, false, false},
		"95%":                            {5*gib - 1, 100 * gib, gib, true, false},
		"99%":                            {gib - 1, 100 * gib, gib, true, true},
		"little beside a large database": {30 * gib, 500 * gib, 400 * gib, true, false},
		"nothing is known":               {0, 0, 0, false, false},
	} {
		if nearly, full := cli.DiskFills(kairos.Storage{Free: c.free, Disk: c.disk, Database: c.database}); nearly != c.nearly || full != c.full {
			t.Errorf("%s: %v %v", name, nearly, full)
		}
	}
}

// The newest backup is read back as a restore would: one that rotted since it was
// verified is found, said and recorded (RELIABILITY 5).
func TestTheNewestBackupIsReadBack(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	dir := t.TempDir()
	if test, err := cli.Drill(t.Context(), s, dir); test != nil || err != nil {
		t.Errorf("without any backup: %+v, %v", test, err)
	}
	path := filepath.Join(dir, "kairos-1.db")
	if _, err := s.Backup(t.Context(), path, "test"); err != nil {
		t.Fatal(err)
	}
	test, err := cli.Drill(t.Context(), s, dir)
	if err != nil || test.Backup != "kairos-1.db" || test.Problem != "" || time.Since(test.At) > time.Hour {
		t.Errorf("of a whole one: %+v, %v", test, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("rot"), 5000); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if test, err = cli.Drill(t.Context(), s, dir); err == nil || !strings.Contains(test.Problem, "not the file that its manifest speaks of") {
		t.Errorf("of a rotten one: %+v, %v", test, err)
	}
	list, err := s.AuditEvents(t.Context(), kairos.AuditFilter{Action: "store.drilled"})
	if err != nil || len(list.Items) != 2 || list.Items[0].Result != "failed" || list.Items[1].Result != "ok" || list.Items[0].Object != "backup:kairos-1.db" {
		t.Errorf("recorded: %+v, %v", list.Items, err)
	}
}

// O10: a secret's file that everybody may read is said at the start.
func TestASecretThatEverybodyMayReadIsSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "kairos.yaml")
	if err := os.WriteFile(config, []byte("secrets: {OPEN: {file: "+dir+"/open, tools: [http], hosts: [a.example]}, CLOSED: {file: "+dir+"/closed, tools: [http], hosts: [a.example]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"open": 0o644, "closed": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("canary-7b1c"), mode); err != nil {
			t.Fatal(err)
		}
	}
	d := serve(t, filepath.Join(dir, "data"), "--config", config)
	d.end(t)
	if log := d.log.String(); !strings.Contains(log, `"secret":"OPEN"`) || strings.Contains(log, "CLOSED") || strings.Contains(log, "canary") {
		t.Errorf("it says %s", log)
	}
}

// O14: a clock that is behind what was recorded is said at the start; one that
// was wrong before does not hide what was stored.
func TestAClockThatIsWrongIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		now  time.Time // when the newest record was made
		says bool
	}{
		"1970 now, by a record of 2100": {time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), true},
		"1970 before":                   {time.Date(1970, 1, 1, 0, 0, 1, 0, time.UTC), false},
		"a minute":                      {time.Now().Add(time.Minute), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			s, err := store.Open(t.Context(), filepath.Join(data, "kairos.db"), store.Options{Now: func() time.Time { return c.now }})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Audit(t.Context(), kairos.AuditRecord{Action: "note", Actor: "ada"}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			d := serve(t, data)
			if code := d.end(t); code != 0 {
				t.Errorf("exit %d", code)
			}
			if got := strings.Contains(d.log.String(), "the clock is behind what was recorded"); got != c.says {
				t.Errorf("it says %s", d.log)
			}
		})
	}
}
