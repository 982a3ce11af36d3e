package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// A daemon without a configuration makes daily backups and prints that it does.
func TestBackupsAreDailyByDefault(t *testing.T) {
	t.Parallel()
	job := func(d *serving) *domain.Job {
		t.Helper()
		i, err := d.Server(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range i.Jobs {
			if j.Name == "backup" {
				return &j
			}
		}
		return nil
	}
	dir := t.TempDir()
	d := serve(t, filepath.Join(dir, "a"))
	if j := job(d); j == nil || j.Every.Duration() != 24*time.Hour {
		t.Errorf("the job: %+v", j)
	}
	if d.end(t); !strings.Contains(d.out.String(), "backups: every 1d to "+filepath.Join(dir, "a", "backups")+", 7 daily kept") {
		t.Errorf("it prints %s", d.out)
	}
	d = serve(t, filepath.Join(dir, "b"), "--config", written(t, dir, "kairos.yaml", "backup: {every: never}\n"))
	if j := job(d); j != nil {
		t.Errorf("the job: %+v", j)
	}
	if d.end(t); !strings.Contains(d.out.String(), "backups: none are scheduled (backup.every: never)") {
		t.Errorf("it prints %s", d.out)
	}
}

// O10: at startup, the daemon reports a secret's file that everyone can read.
func TestAWorldReadableSecretIsReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "kairos.yaml")
	if err := os.WriteFile(config, []byte("secrets: {OPEN: {file: "+dir+"/open, tools: [http], hosts: [a.example]}, CLOSED: "+
		"{file: "+dir+"/closed, tools: [http], hosts: [a.example]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"open": 0o644, "closed": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("canary-7b1c"), mode); err != nil {
			t.Fatal(err)
		}
	}
	d := serve(t, filepath.Join(dir, "data"), "--config", config)
	d.end(t)
	if log := d.log.String(); !strings.Contains(log, `"secret":"OPEN"`) || strings.Contains(log, "CLOSED") ||
		strings.Contains(log, "canary") {
		t.Errorf("the log is %s", log)
	}
}

// O14: at startup, the daemon reports a clock behind the newest record. A clock that was wrong
// before hides no stored data.
func TestAWrongClockIsReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		now  time.Time // the time of the newest record
		want bool
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
			if err := s.Audit(t.Context(), domain.AuditRecord{Action: "note", Actor: "ada"}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			d := serve(t, data)
			if code := d.end(t); code != 0 {
				t.Errorf("exit %d", code)
			}
			if got := strings.Contains(d.log.String(), "the clock is behind the newest record"); got != c.want {
				t.Errorf("the log is %s", d.log)
			}
		})
	}
}
