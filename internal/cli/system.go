package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/metric"
	"github.com/kairosd/kairosd/internal/store"
)

// system looks after a running installation as a whole: what operators see and
// do about its storage, backups, retention and holds.
type system struct {
	store   *store.Store
	engine  *engine.Engine
	metrics *metric.Recorder
	policy  kairos.Retention
	words   []string // the policy, for people
	backups string   // directory
	keep    config.Backup
	log     *slog.Logger
	started time.Time
	safe    string
	// lastFailure is why the daemon before this one stopped, if storage failed.
	lastFailure string

	working sync.Mutex // one backup or retention at a time

	// clock says that the machine's clock is behind what was recorded (O14).
	clock   string
	unclean bool // the daemon before this one did not end by itself

	maintaining sync.Mutex // one change of maintenance at a time

	configFile string
	configSum  string
	lines      *logLines           // nil: nothing is kept
	mask       func([]byte) []byte // takes secrets out of what is shown

	mu          sync.Mutex
	jobs        []*kairos.Job
	tables      []kairos.TableStorage
	tablesAt    time.Time
	takenUp     int64
	maintenance *kairos.Maintenance
	plans       []kairos.PlanStorage
	plansAt     time.Time
	checkedAt   time.Time
	finding     string
}

// Installation says how the daemon and its data are.
func (s *system) Installation(ctx context.Context) (kairos.Installation, error) {
	i := kairos.Installation{Version: thisBuild().Version, Instance: s.store.Instance(), Incarnation: s.store.Incarnation(), Epoch: s.store.Epoch(),
		Schema: store.SchemaVersion(), Started: s.started, Safe: s.safe, LastFailure: s.lastFailure, BackupDir: s.backups,
		Plans: []kairos.PlanStorage{}, Backups: []kairos.Backup{}, Retention: s.words}
	if err := s.store.Failure(); err != nil {
		i.Failed = err.Error()
	}
	var err error
	if i.Hold, err = s.store.Hold(ctx); err != nil {
		return i, err
	}
	counts, err := s.store.RunCounts(ctx)
	if err != nil {
		return i, err
	}
	i.Held, i.Undecided = counts.Held, counts.Waiting[kairos.WaitInDoubt]
	if i.Starts, i.UncleanStarts, i.TakenUp, err = s.recentStarts(ctx); err != nil {
		return i, err
	}
	i.ConfigFile, i.ConfigSum = s.configFile, s.configSum
	if i.Host, err = os.Hostname(); err != nil {
		i.Host = "" // a name for people, and nothing depends on it
	}
	i.Clock = machineClock()
	i.Clock.Behind = s.clock
	if i.Events, err = s.store.LastEvent(ctx); err != nil {
		return i, err
	}
	if i.Storage, err = s.store.Usage(ctx); err != nil {
		return i, err
	}
	s.mu.Lock()
	i.Maintenance = s.maintenance
	i.Tables, i.TablesAt, i.Jobs = slices.Clone(s.tables), s.tablesAt, []kairos.Job{}
	for _, j := range s.jobs {
		i.Jobs = append(i.Jobs, *j)
	}
	i.Plans, i.PlansAt, i.CheckedAt, i.Finding = append(i.Plans, s.plans...), s.plansAt, s.checkedAt, s.finding
	s.mu.Unlock()
	i.Backups, err = listBackups(s.backups)
	return i, err
}

// The audit log has every start of the daemon; one that followed a death without
// a goodbye has a result that says so.
const (
	startAction  = "daemon.start"
	afterCrash   = "unclean"
	startsWindow = 7 * 24 * time.Hour
)

// noteStart records the start, and with what: a failure that is new since another
// model answers, or since an agent's prompt changed, is known by it.
func (s *system) noteStart(ctx context.Context, with *handler.Models) error {
	detail := startedWith(with)
	detail["runs"] = map[string]string{"takenUp": strconv.FormatInt(s.takenUp, 10)}
	raw, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("record the start: %w", err)
	}
	r := kairos.AuditRecord{Action: startAction, Actor: kairos.System.Name, Surface: kairos.System.Surface, Object: "version:" + thisBuild().Version, Detail: raw}
	if s.unclean {
		r.Reason = afterCrash
	}
	return s.store.Audit(ctx, r)
}

// startedWith names the model of each provider, and each agent by a digest of
// what it is told: no text of a configuration belongs into the audit log.
func startedWith(m *handler.Models) map[string]map[string]string {
	out := map[string]map[string]string{kairos.UseProvider: {}, kairos.UseAgent: {}}
	for _, p := range m.ProviderInfos() {
		out[kairos.UseProvider][p.Name] = strings.TrimSpace(p.Type + " " + p.Model)
	}
	for _, a := range m.AgentInfos() {
		a.Activity = kairos.Activity{}             // how it fared does not change what it is
		if b, err := json.Marshal(a); err == nil { // strings and booleans
			sum := sha256.Sum256(b)
			out[kairos.UseAgent][a.ID] = hex.EncodeToString(sum[:6])
		}
	}
	return out
}

// countUnfinished notes, before the engine opens, how many runs it will take up.
func (s *system) countUnfinished(ctx context.Context) error {
	counts, err := s.store.RunCounts(ctx)
	s.takenUp = counts.ByStatus[kairos.RunRunning] + counts.ByStatus[kairos.RunQueued]
	return err
}

// recentStarts counts the starts of the last week, those after a crash, and the
// runs that they went on with; at most 200 are looked at.
func (s *system) recentStarts(ctx context.Context) (starts, unclean int, takenUp int64, err error) {
	l, err := s.store.AuditEvents(ctx, kairos.AuditFilter{Action: startAction, Since: time.Now().Add(-startsWindow), Page: kairos.Page{Limit: 200}})
	for _, ev := range l.Items {
		if ev.Reason == afterCrash {
			unclean++
		}
		var detail struct {
			Runs struct {
				TakenUp int64 `json:"takenUp,string"`
			} `json:"runs"`
		}
		if len(ev.Detail) > 0 && json.Unmarshal(ev.Detail, &detail) == nil { // a start of before does not say
			takenUp += detail.Runs.TakenUp
		}
	}
	return len(l.Items), unclean, takenUp, err
}

// Vitals is how the daemon does now and did over the last day.
func (s *system) Vitals(ctx context.Context) (kairos.Vitals, error) { return s.metrics.Vitals(ctx) }

// Notices are what every page says now. They are cheap.
func (s *system) Notices(ctx context.Context) []kairos.Notice {
	var out []kairos.Notice
	add := func(bad bool, href, act, format string, args ...any) {
		out = append(out, kairos.Notice{Bad: bad, Text: fmt.Sprintf(format, args...), Href: href, Act: act})
	}
	if err := s.store.Failure(); err != nil {
		add(true, "", "", "Storage failed, and nothing is written any more: %s. kairosd is stopping; what was acknowledged is safe.", err)
	}
	if s.safe != "" {
		add(true, "/system", "Look", "Safe mode: %s. Everything can be looked at and cancelled; nothing is executed.", s.safe)
	}
	s.mu.Lock()
	finding, maintenance := s.finding, s.maintenance
	s.mu.Unlock()
	if m := maintenance; m != nil {
		add(false, "/system", "Look", "Maintenance since %s, by %s: %s. What runs finishes; no step starts.", m.Since.Format("2006-01-02 15:04 UTC"), m.By, cmp.Or(m.Reason, "-"))
	}
	if finding != "" {
		add(true, "/system", "Look", "The examination of the database found a problem: %s. Run kairosd doctor.", finding)
	}
	if s.clock != "" {
		add(true, "", "", "%s", s.clock)
	}
	held := int64(0)
	if counts, err := s.store.RunCounts(ctx); err == nil {
		held = counts.Held
	}
	if h, err := s.store.Hold(ctx); err == nil && h != nil {
		add(true, "/system", "Look and release", "Nothing is executed: %s. %s.", holdText(h), heldText(held))
	} else if held > 0 {
		add(true, "/system", "Look and release", "%s since a restore.", heldText(held))
	}
	if u, err := s.store.Usage(ctx); err == nil {
		if nearly, full := diskFills(u); nearly {
			add(full, "/system", "Look", "The disk of the data directory has only %d MiB free.", u.Free>>20)
		}
	}
	return out
}

// diskFills says whether a disk is nearly full: less than a twentieth of it is
// free, or less than a tenth of the database; and whether it is as good as full.
// What happens then is the store's: new work is refused until there is space
// (O12).
func diskFills(u kairos.Storage) (nearly, full bool) {
	return u.Disk > 0 && (u.Free < u.Disk/20 || u.Free < u.Database/10), u.Disk > 0 && u.Free < u.Disk/100
}

func heldText(n int64) string {
	if n == 1 {
		return "1 run is held"
	}
	return fmt.Sprintf("%d runs are held", n)
}

// holdText says why there is a hold.
func holdText(h *kairos.Hold) string {
	text := "this database is older than what was recorded of it"
	if h.Reason == kairos.HoldRestored {
		text = "this database was restored from " + h.Backup
	}
	if h.Lost > h.Last {
		text += fmt.Sprintf(", %d events after event %d are missing", h.Lost-h.Last, h.Last)
	}
	return text
}

// ReleaseHeld ends a hold and lets all held runs go on, or only those of a plan.
func (s *system) ReleaseHeld(ctx context.Context, actor kairos.Actor, plan, reason string) (int, error) {
	return s.engine.ReleaseHeld(ctx, actor, plan, reason)
}

// checkClock compares the machine's clock with the newest record.
func (s *system) checkClock(ctx context.Context) error {
	last, err := s.store.LastEvent(ctx)
	if err != nil || last == 0 {
		return err
	}
	events, err := s.store.AuditLog(ctx, last-1, 1)
	if err != nil {
		return err
	}
	if behind := time.Until(events[0].At); behind > 5*time.Minute {
		s.clock = fmt.Sprintf("The clock of this machine was %s behind the newest record when kairosd started: timers and sessions may end late.",
			behind.Round(time.Minute))
		s.log.Error("the clock is behind what was recorded", "by", behind.String())
	}
	return nil
}

// admin refuses who may not manage the installation.
func (s *system) admin(ctx context.Context, actor kairos.Actor, action string) error {
	return s.allow(ctx, actor, kairos.RoleAdmin, action)
}

// allow refuses who lacks a role, and records that.
func (s *system) allow(ctx context.Context, actor kairos.Actor, role kairos.Role, action string) error {
	if actor.Role.Includes(role) {
		return nil
	}
	err := kairos.Errorf(kairos.CodeForbidden, "this needs the role %s; %s has the role %s", role, actor.Name, actor.Role)
	if auditErr := s.store.Audit(ctx, kairos.AuditRecord{Action: action, Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Result: "denied", Reason: err.Message}); auditErr != nil {
		s.log.Error("a refusal could not be audited", "action", action, "err", auditErr)
	}
	return err
}

// alone refuses a second backup or retention while one is under way.
func (s *system) alone() (func(), error) {
	if !s.working.TryLock() {
		return nil, kairos.Errorf(kairos.CodeConflict, "a backup or retention is under way").Suggest("try again when it is done")
	}
	return s.working.Unlock, nil
}

// BackUp makes a verified backup in the configured directory and removes those
// that rotation does not keep.
func (s *system) BackUp(ctx context.Context, actor kairos.Actor) (kairos.Backup, error) {
	if err := s.admin(ctx, actor, "store.backup"); err != nil {
		return kairos.Backup{}, err
	}
	done, err := s.alone()
	if err != nil {
		return kairos.Backup{}, err
	}
	defer done()
	path, err := newBackup(s.backups)
	if err != nil {
		return kairos.Backup{}, err
	}
	b, err := s.store.Backup(ctx, path, thisBuild().Version)
	record := kairos.AuditRecord{Action: "store.backup", Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: "backup:" + filepath.Base(path)}
	if err != nil {
		record.Result, record.Reason = "failed", err.Error()
	}
	if auditErr := s.store.Audit(context.WithoutCancel(ctx), record); err == nil {
		err = auditErr
	}
	if err == nil {
		s.rotate()
	}
	return b, err
}

// listBackups are the backups of a directory, newest first: the files that have
// a manifest. What cannot be read is none.
func listBackups(dir string) ([]kairos.Backup, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return []kairos.Backup{}, nil
	} else if err != nil {
		return nil, kairos.Errorf(kairos.CodeUnavailable, "list backups: %w", err)
	}
	out := []kairos.Backup{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), store.ManifestSuffix)
		if !ok {
			continue
		}
		if b, err := store.ReadManifest(filepath.Join(dir, name)); err == nil && exists(b.Path) {
			b.Verified = nil
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b kairos.Backup) int { return b.Created.Compare(a.Created) })
	return out, nil
}

// rotate removes backups that no hour, day or week keeps; never the newest, and
// none that another installation made.
func (s *system) rotate() {
	list, err := listBackups(s.backups)
	if err != nil {
		s.log.Error("rotate backups", "err", err)
		return
	}
	list = slices.DeleteFunc(list, func(b kairos.Backup) bool {
		return b.Instance != s.store.Instance() || !strings.HasPrefix(filepath.Base(b.Path), "kairos-")
	})
	for _, b := range superfluous(list, s.keep) {
		// The manifest first: without it, what is left is no backup.
		for _, p := range []string{b.Path + store.ManifestSuffix, b.Path} {
			if err := os.Remove(p); err != nil {
				s.log.Error("rotate backups", "file", p, "err", err)
				break
			}
		}
		s.log.Info("backup removed by rotation", "file", b.Path)
	}
}

// superfluous lists those of the backups, given newest first, that rotation does
// not keep: it keeps the newest of each of the last hours, days and weeks that
// have one.
func superfluous(list []kairos.Backup, keep config.Backup) []kairos.Backup {
	if keep.Hourly == 0 && keep.Daily == 0 && keep.Weekly == 0 {
		keep.Hourly, keep.Daily, keep.Weekly = 24, 7, 5
	}
	kept := map[string]bool{}
	for _, span := range []struct {
		most int
		name func(time.Time) string
	}{
		{keep.Hourly, func(t time.Time) string { return t.Format("2006-01-02T15") }},
		{keep.Daily, func(t time.Time) string { return t.Format("2006-01-02") }},
		{keep.Weekly, func(t time.Time) string { y, w := t.ISOWeek(); return fmt.Sprint(y, "W", w) }},
	} {
		seen := map[string]bool{}
		for _, b := range list {
			if name := span.name(b.Created.UTC()); !seen[name] && len(seen) < span.most {
				seen[name], kept[b.Path] = true, true
			}
		}
	}
	var out []kairos.Backup
	for i, b := range list {
		if i > 0 && !kept[b.Path] {
			out = append(out, b)
		}
	}
	return out
}

// Retain removes what retention says, or only says what it would remove.
func (s *system) Retain(ctx context.Context, actor kairos.Actor, dryRun bool) (kairos.Retained, error) {
	if err := s.admin(ctx, actor, "store.retention"); err != nil {
		return kairos.Retained{}, err
	}
	done, err := s.alone()
	if err != nil {
		return kairos.Retained{}, err
	}
	defer done()
	r, err := s.store.Retain(ctx, s.policy, actor, dryRun)
	// What the daemon does by itself every hour is told when it removed something; a
	// person's act always is.
	if err == nil && !dryRun && (r.Runs+r.Events > 0 || actor.Name != kairos.System.Name) {
		err = s.store.Audit(ctx, kairos.AuditRecord{Action: "store.retention", Actor: actor.Name, Surface: actor.Surface, Request: actor.Request,
			Reason: fmt.Sprintf("%d runs with %d journal rows, %d audit events", r.Runs, r.Rows, r.Events)})
	}
	return r, err
}

// policyWords says a policy in words, a line per rule.
func policyWords(c config.Retention) []string {
	out := []string{}
	rule := func(who string, r config.RetentionRule) {
		for _, part := range []struct{ status, age string }{{"completed", r.Completed}, {"failed", r.Failed}, {"cancelled", r.Cancelled}} {
			if part.age != "" {
				out = append(out, fmt.Sprintf("%s: %s runs keep their journal for %s", who, part.status, part.age))
			}
		}
		if r.Keep > 0 {
			out = append(out, fmt.Sprintf("%s: the newest %d finished runs of each plan keep their journal", who, r.Keep))
		}
	}
	rule("all plans", c.RetentionRule)
	for _, plan := range sortedKeys(c.Plans) {
		before := len(out)
		rule("plan "+plan, c.Plans[plan])
		if len(out) == before {
			out = append(out, "plan "+plan+": kept for ever")
		}
	}
	if c.Audit != "" {
		out = append(out, "audit events are kept for "+c.Audit)
	}
	if c.MaxSize != "" {
		out = append(out, "above "+c.MaxSize+" the oldest finished runs lose their journal first")
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// run does what is due, until the context ends.
func (s *system) run(ctx context.Context, cfg config.Config) {
	retain := cmp.Or(mustAge(cfg.Retention.Every), time.Hour)
	backup := mustAge(cfg.Backup.Every)
	var wg sync.WaitGroup
	every := func(first, d time.Duration, what string, f func() error) {
		j := &kairos.Job{Name: what, Every: d, NextAt: time.Now().Add(first).UTC()}
		s.mu.Lock()
		s.jobs = append(s.jobs, j)
		s.mu.Unlock()
		wg.Go(func() {
			t := time.NewTimer(first)
			defer t.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-t.C:
				}
				s.mu.Lock()
				j.Running, j.LastAt = true, time.Now().UTC()
				s.mu.Unlock()
				err := f()
				if err != nil && ctx.Err() == nil {
					s.log.Error(what, "err", err)
				}
				s.mu.Lock()
				j.Running, j.Took, j.Error, j.NextAt = false, time.Since(j.LastAt), "", time.Now().Add(d).UTC()
				if err != nil {
					j.Error = err.Error()
				}
				s.mu.Unlock()
				t.Reset(d)
			}
		})
	}
	every(10*time.Second, 10*time.Minute, "sum up storage", func() error { return s.sumUp(ctx) })
	every(time.Minute, retain, "retention", func() error {
		r, err := s.Retain(ctx, kairos.System, false)
		if kairos.CodeOf(err) == kairos.CodeConflict {
			return nil // at the next turn
		}
		if r.Runs+r.Events > 0 {
			s.log.Info("retention", "runs", r.Runs, "rows", r.Rows, "events", r.Events, "bytes", r.Bytes, "ms", r.Took)
		}
		return err
	})
	every(s.untilCheck(ctx), checkEvery, "examine the database", func() error { return s.check(ctx) })
	if backup > 0 {
		every(s.untilBackup(backup), backup, "backup", func() error {
			b, err := s.BackUp(ctx, kairos.System)
			if err == nil {
				s.log.Info("backup", "file", b.Path, "bytes", b.Bytes, "event", b.AuditSeq)
			}
			return err
		})
	}
	wg.Wait()
}

// checkEvery is how often the whole database is examined.
const checkEvery = 7 * 24 * time.Hour

// actionChecked is the record of an examination.
const actionChecked = "store.checked"

// untilCheck is when the next examination is due, by the record of the last one;
// soon after an unclean stop (RELIABILITY 2.3).
func (s *system) untilCheck(ctx context.Context) time.Duration {
	list, err := s.store.AuditEvents(ctx, kairos.AuditFilter{Action: actionChecked, Page: kairos.Page{Limit: 1}})
	if err != nil || len(list.Items) == 0 {
		return time.Minute
	}
	last := list.Items[0]
	s.mu.Lock()
	s.checkedAt = last.At
	if last.Result != "ok" {
		s.finding = last.Reason
	}
	s.mu.Unlock()
	if s.unclean {
		return time.Minute
	}
	return max(time.Minute, checkEvery-time.Since(last.At))
}

// check examines the whole database.
func (s *system) check(ctx context.Context) error {
	began := time.Now()
	checks, err := s.store.Verify(ctx)
	if err != nil {
		return err
	}
	record := kairos.AuditRecord{Action: actionChecked, Actor: kairos.System.Name, Surface: kairos.System.Surface, Reason: "nothing was found"}
	for _, c := range checks {
		if len(c.Problems) > 0 {
			record.Result, record.Reason = "failed", c.Name+": "+c.Problems[0]
			s.log.Error("the database has a problem", "check", c.Name, "problem", c.Problems[0], "problems", len(c.Problems), "advice", c.Advice)
			break
		}
	}
	s.log.Info("the database was examined", "result", record.Reason, "ms", time.Since(began).Milliseconds())
	s.mu.Lock()
	s.checkedAt, s.finding = time.Now().UTC(), ""
	if record.Result != "" {
		s.finding = record.Reason
	}
	s.mu.Unlock()
	s.sumTables(ctx)
	return s.store.Audit(ctx, record)
}

// sumTables refreshes what tables take. It reads every page, as an examination does.
func (s *system) sumTables(ctx context.Context) {
	tables, err := s.store.Tables(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("sum up the tables", "err", err)
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables, s.tablesAt = tables, time.Now().UTC()
}

// smallDatabase is how large one may be for its tables to be summed up often: it is
// read within a blink.
const smallDatabase = 64 << 20

// untilBackup is when the next backup is due: restarts do not put it off.
func (s *system) untilBackup(every time.Duration) time.Duration {
	list, err := listBackups(s.backups)
	if err != nil || len(list) == 0 {
		return time.Minute
	}
	return max(time.Minute, every-time.Since(list[0].Created))
}

// sumUp refreshes what plans take.
func (s *system) sumUp(ctx context.Context) error {
	plans, err := s.store.PlanStorage(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.plans, s.plansAt = plans, time.Now().UTC()
	s.mu.Unlock()
	if u, err := s.store.Usage(ctx); err == nil && u.Database < smallDatabase {
		s.sumTables(ctx)
	}
	return nil
}

// Log is the newest lines of the daemon's log, the newest first, with secrets taken
// out; those of a level or worse, and with a text.
func (s *system) Log(_ context.Context, level, text string) ([]kairos.DaemonLog, error) {
	if s.lines == nil {
		return []kairos.DaemonLog{}, nil
	}
	return s.lines.newest(level, text, s.mask), nil
}

// mustAge reads an age that the configuration's check has read before.
func mustAge(text string) time.Duration {
	d, err := config.Age(text)
	if err != nil {
		return 0
	}
	return d
}
