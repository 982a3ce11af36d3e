package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Only rows at the start of the log are removed, and an event in the chain records it.
func TestTheAuditLogIsTruncatedAtItsStart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, start := daily(t, 0) // one run and one login per day for thirty days
	verify := func() AuditReport {
		t.Helper()
		r, err := s.VerifyAudit(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	whole := verify()
	for i, days := range []int{-5, 0, 10, 10, 25} {
		n, err := s.CutAudit(ctx, start.AddDate(0, 0, days), domain.System)
		if err != nil {
			t.Fatal(err)
		}
		r := verify()
		if len(r.Problems) > 0 {
			t.Errorf("after cut %d: %v", i, r.Problems)
		}
		if want := []int64{1, 1, 10, 0, 15}[i]; n != want {
			t.Errorf("cut %d removed %d events, want %d", i, n, want)
		}
	}
	if r := verify(); r.Events >= whole.Events {
		t.Errorf("%d events before, %d after", whole.Events, r.Events)
	}
	if err := alter(t, s.path, "DELETE FROM audit_events WHERE seq = (SELECT min(seq) FROM audit_events)"); err == nil {
		t.Error("the database lets go of an event after the cut")
	}
	list, err := s.AuditEvents(ctx, domain.AuditFilter{Until: start.AddDate(0, 0, 27)})
	if err != nil || len(list.Items) == 0 {
		t.Errorf("lists after a cut: %d events, %v", len(list.Items), err)
	}
}

// Rows that are removed from the start of the log in any other way are detected.
func TestAForgedTruncationIsFound(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, mac := range map[string]string{"with the right link": "", "with a wrong link": strings.Repeat("00", 32)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := daily(t, 0)
			if mac == "" {
				b, err := s.q.AuditMac(ctx, 10)
				if err != nil {
					t.Fatal(err)
				}
				mac = fmt.Sprintf("%x", b)
			}
			for _, text := range []string{
				fmt.Sprintf(`INSERT INTO settings (key, value) VALUES ('audit_cut', '{"seq":10,"mac":"%s"}')`, mac),
				"DELETE FROM audit_events WHERE seq <= 10",
			} {
				if err := alter(t, s.path, text); err != nil {
					t.Fatal(err)
				}
			}
			r, err := s.VerifyAudit(ctx)
			if err != nil || len(r.Problems) == 0 {
				t.Errorf("not found: %+v, %v", r, err)
			}
		})
	}
}

func TestRetentionTruncatesTheAuditLogIfConfigured(t *testing.T) {
	t.Parallel()
	s, _ := daily(t, 0)
	r, err := s.Retain(context.Background(), domain.Retention{Audit: 20 * 24 * time.Hour}, domain.System, false)
	if err != nil || r.Events < 8 || r.Runs != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// O11: A database without its key is not silently opened with a new one. An operator may declare it
// lost, and then only the earlier events cannot be verified. An invalid key file is never replaced.
func TestAMissingKeyIsNotReplacedSilently(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "kairos.db")
	open := func(o Options) (*Store, error) { return Open(ctx, path, o) }
	s, err := open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.Audit(ctx, domain.AuditRecord{Action: "note", Actor: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	key, err := os.ReadFile(path + ".key")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), os.Remove(path+".key")); err != nil {
		t.Fatal(err)
	}
	if _, err := open(Options{}); domain.CodeOf(err) != domain.CodeCorrupt || !strings.Contains(err.Error(), ".key is missing") {
		t.Errorf("without its key: %v", err)
	}
	if _, err := os.Stat(path + ".key"); err == nil {
		t.Error("a refusal has made a key")
	}
	reader, err := open(Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := reader.VerifyAudit(ctx); err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], ".key is missing") {
		t.Errorf("verified without the key: %+v, %v", r, err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"empty": "", "half": string(key[:30]), "no key": strings.Repeat("z", 64)} {
		if err := os.WriteFile(path+".key", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := open(Options{NewKey: true}); domain.CodeOf(err) != domain.CodeCorrupt {
			t.Errorf("a key file that is %s: %v", name, err)
		}
	}
	if err := os.WriteFile(path+".key", key, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = open(Options{}); err != nil {
		t.Fatalf("with its key again: %v", err)
	}
	if err := errors.Join(s.Close(), os.Remove(path+".key")); err != nil {
		t.Fatal(err)
	}
	if s, err = open(Options{NewKey: true}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Audit(ctx, domain.AuditRecord{Action: "note", Actor: "ada"}); err != nil {
		t.Fatal(err)
	}
	if r, err := s.VerifyAudit(ctx); err != nil || len(r.Problems) > 0 {
		t.Errorf("%+v %v", r, err)
	}
	if list, err := s.AuditEvents(ctx, domain.AuditFilter{Action: actionNewKey}); err != nil || len(list.Items) != 1 ||
		list.Items[0].Reason != "the previous key was lost" {
		t.Errorf("%+v %v", list.Items, err)
	}
}

// A change of the key cannot be forged without the key.
func TestAForgedKeyChangeIsFound(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, _ := daily(t, 0)
	if err := alter(t, s.path, `DROP TRIGGER audit_events_are_immutable;
UPDATE audit_events SET actor = 'nobody' WHERE seq = 5;
INSERT INTO audit_events (seq, at, first_seq, run_seq, action, actor, source, object, result, reason, detail)
SELECT max(seq) + 1, max(at), 0, 0, 'audit.new_key', 'system', 'engine', '', 'ok', '', '{"seq":20,"mac":""}'
FROM audit_events`); err != nil {
		t.Fatal(err)
	}
	if r, err := s.VerifyAudit(ctx); err != nil || len(r.Problems) == 0 {
		t.Errorf("not found: %+v, %v", r, err)
	}
	// It does not become valid if the store continues after it.
	if err := s.Audit(ctx, domain.AuditRecord{Action: "note", Actor: "ada"}); err == nil {
		if r, err := s.VerifyAudit(ctx); err != nil || len(r.Problems) == 0 {
			t.Errorf("not found later: %+v, %v", r, err)
		}
	}
}

// A database whose audit log is still empty also gets a new key, and an attempt without one leaves no
// key file behind.
func TestTheKeyOfAnEmptyAuditLogIsLost(t *testing.T) {
	t.Parallel()
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "k.db")
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), os.Remove(path+".key")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, path, Options{}); domain.CodeOf(err) != domain.CodeCorrupt || !strings.Contains(err.Error(), ".key is missing") {
		t.Errorf("without its key: %v", err)
	}
	for _, o := range []Options{{NewKey: true}, {}} { // the second start uses the new key file
		if s, err = Open(ctx, path, o); err != nil {
			t.Fatal(err)
		}
		if r, err := s.VerifyAudit(ctx); err != nil || len(r.Problems) > 0 {
			t.Errorf("%+v %v", r, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
