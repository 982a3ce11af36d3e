package crashtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/testing/proof"
)

// bug is a mistake that somebody could make, and the tests that must notice it.
// It is put into a copy of its file; the product knows nothing of it.
type bug struct {
	name, file string
	edits      []edit
	pkg, run   string
}

// edit replaces one place of a file: the text old, which the file has once, or the
// line that ends with the comment //seed:mark, whatever that line is by now.
type edit struct{ old, mark, new string }

func seed(name, file, old, new, pkg, run string, also ...string) bug {
	b := bug{name, file, []edit{{old: old, new: new}}, pkg, run}
	for i := 0; i < len(also); i += 2 {
		b.edits = append(b.edits, edit{old: also[i], new: also[i+1]})
	}
	return b
}

// marked is a bug in marked lines of a file.
func marked(name, file, mark, line, pkg, run string, also ...string) bug {
	b := bug{name, file, []edit{{mark: mark, new: line}}, pkg, run}
	for i := 0; i < len(also); i += 2 {
		b.edits = append(b.edits, edit{mark: also[i], new: also[i+1]})
	}
	return b
}

var bugs = []bug{
	seed("acknowledge before the commit", "internal/store/writer.go", "func (w *writer) commit(batch []op) {\n",
		"func (w *writer) commit(batch []op) {\n\tfor i := range batch {\n\t\tbatch[i].done(nil)\n\t\tbatch[i].done = func(error) {}\n\t}\n",
		"./internal/store", "TestPowerCuts"),
	seed("synchronous=NORMAL", "internal/store/store.go", "synchronous(FULL)", "synchronous(NORMAL)", "./internal/store", "TestPowerCuts"),
	seed("synchronous=OFF", "internal/store/store.go", "synchronous(FULL)", "synchronous(OFF)", "./internal/store", "TestPowerCuts"),
	seed("a sync does nothing", "internal/store/filelayer/filelayer_linux.go", "\treturn f.of.sync(tls, f, fd, flags)\n", "\treturn lib.SQLITE_OK\n", "./internal/store", "TestPowerCuts"),
	seed("a full log that cannot be written is forgotten", "internal/store/filelayer/filelayer_linux.go",
		"\tif rc := f.write(tls, fd, f.piece, f.size, f.at); rc != lib.SQLITE_OK {\n\t\treturn rc\n", "\tif rc := f.write(tls, fd, f.piece, f.size, f.at); rc != lib.SQLITE_OK {\n\t\treturn lib.SQLITE_OK\n",
		"./internal/store/filelayer", "TestAFailedWrite"),
	seed("audit in a second transaction", "internal/store/writer.go", "\tevents, mac, err := w.writeAudit(rows)\n",
		"\tif err := w.direct.end.Exec(); err != nil {\n\t\treturn nil, err\n\t}\n\tif err := w.direct.begin.Exec(); err != nil {\n\t\treturn nil, err\n\t}\n\tevents, mac, err := w.writeAudit(rows)\n",
		"./internal/store", "TestPowerCuts"),
	seed("checkpoints without an audit record", "internal/store/checkpoint.go", "if n := len(p.c.Entries); n > 0 ||", "if n := len(p.c.Entries); n < 0 ||",
		"./internal/store", "TestCheckpointsAreReadBack|TestRowsAfterTheEnd"),
	seed("no fence on checkpoints", "internal/store/checkpoint.go", "\tif st.LastSeq != c.Fence {\n", "\tif false {\n", "./internal/store", "TestASecondWriter"),
	seed("no epoch check", "internal/store/writer.go", "if epoch != strconv.FormatInt(w.s.epoch, 10) {", "if epoch == strconv.Itoa(-1) {", "./internal/store", "TestAnotherEpoch"),
	seed("the epoch is checked once and never again", "internal/store/writer.go", "if err != nil || v == w.version {", "if err != nil || v > 0 && w.version >= 0 {", "./internal/store", "TestAnotherEpoch"),
	seed("row hashes not verified", "internal/store/internal/core/entry.go", "if string(RowHash(runID, &r)) != string(r.Hash) {", "if false {", "./internal/store/...", "TestDamage|TestSalvage|TestASecond"),
	seed("value hashes not verified", "internal/store/internal/core/payloads.go", "if sum := sha256.Sum256(data); string(sum[:]) != string(hash) {",
		"if sum := sha256.Sum256(data); len(sum) == 0 {", "./internal/store/...", "TestDamage|TestSalvage|TestAFlipped"),
	seed("an I/O error does not stop the store", "internal/store/internal/core/errors.go", "case lib.SQLITE_IOERR, lib.SQLITE_CORRUPT,", "case lib.SQLITE_CORRUPT,",
		"./internal/store", "TestOneFailing"),
	seed("a full disk stops the store", "internal/store/internal/core/errors.go", "case lib.SQLITE_IOERR, lib.SQLITE_CORRUPT,", "case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_CORRUPT,",
		"./internal/store", "TestOneFailing"),
	seed("a rollback goes unnoticed", "internal/store/internal/core/anchor.go", "\tif errors.Is(err, sql.ErrNoRows) {\n\t\treturn true, nil\n", "\tif errors.Is(err, sql.ErrNoRows) {\n\t\treturn false, nil\n",
		"./internal/store", "TestARestoredOldCopy|TestADamagedLog"),
	seed("a restored database is not held", "internal/store/store.go", "if s.rolledBack || o.Restored != \"\" || lost {", "if s.rolledBack && o.Restored == \"never\" || lost {",
		"./internal/store", "TestARestored"),
	seed("the anchor before the commit", "internal/store/writer.go", "\tfailpoint.Hit(\"commit.before\")\n",
		"\tif len(events) > 0 {\n\t\tif err := w.s.anchor.move(w.chain.seq+int64(len(events)), mac, w.s.now()); err != nil {\n\t\t\treturn nil, err\n\t\t}\n\t}\n\tfailpoint.Hit(\"commit.before\")\n",
		"./crashtest", "TestKillAtEveryStep"),
	seed("a lost log is not missed", "internal/store/writer.go", "if w.wal.unanchored && len(events) > 0 {", "if w.wal.unanchored && len(events) < 0 {", "./internal/store", "TestALostLog"),
	seed("no lock", "internal/store/internal/core/lock.go", "syscall.LOCK_EX|syscall.LOCK_NB", "syscall.LOCK_SH|syscall.LOCK_NB", "./crashtest", "TestASecondDaemon"),
	seed("a lost file goes unnoticed", "internal/store/files.go", "!os.SameFile(info, f.info)", "false && !os.SameFile(info, f.info)", "./crashtest", "TestADatabaseThat"),
	marked("no intent before an effect", "internal/runstate/machine_attempt.go", "intent", "",
		"./internal/engine", "Test"),
	marked("unsafe work is sent again after a crash", "internal/runstate/outcome.go", "unsafe-again", "case unsafe && j.Permanent && !j.NoEffect:",
		"./crashtest", "TestKillInTheMiddleOfManyRuns"),
	marked("an agent's open call is sent again after a crash", "internal/runstate/outcome.go", "open-call", "case j.OpenCall && j.Effect == walk.EffectUnsafe:",
		"./crashtest", "TestKillInTheMiddleOfAnAgentsCall"),
	seed("an agent's open call is retried", "internal/runstate/machine_attempt.go", "OpenCall: len(w.CallsInFlight) > 0, NoEffect", "OpenCall: len(w.CallsInFlight) > 0 && f.Permanent, NoEffect",
		"./internal/handler", "TestAnAgentsCallWithoutAnAnswer"),
	seed("a retry starts over behind a call that is not idempotent", "internal/runstate/open.go", "e.Status != domain.NodeCompleted {", "e.Status != domain.NodeRunning {",
		"./internal/handler", "TestARetryDoesNotRepeatACompletedCall"),
	seed("a new idempotency key in every attempt", "internal/engine/attempt.go", "w.Visit, w.Item)}\n\tif s, ok",
		"w.Visit, w.Item+1000*(w.Attempt+1))}\n\tif s, ok", "./crashtest", "TestKill"),
	seed("a backup is not examined", "internal/store/recovery/restore.go", "if sum != b.SHA256 || size != b.Bytes {", "if sum == \"\" || size != b.Bytes {", "./internal/store", "TestAChangedBackup"),
	seed("seals are not compared", "internal/store/seal.go", "said.Seal != \"\" && said.Seal != f.seal()", "said.Seal == \"\" && said.Seal != f.seal()",
		"./internal/store", "TestAChangedInput"),
	seed("rows after a run's end are lost", "internal/store/checkpoint.go", "\t\tif !next.moved.on { // else settleRuns forgets it\n", "\t\tif next.Status != \"\" {\n",
		"./internal/store", "TestRowsAfterTheEnd"),
	seed("a child's end goes unheard", "internal/engine/subplan.go", "p.MaxChildren > 0 && p.MaxChildren <= r.live", "r.live > 0", "./internal/engine", "TestAChildThatEnded"),
	seed("a due retry spins", "internal/runstate/machine_status.go", "return w.Reason == domain.WaitRetry && !w.Due.After(m.env.Now)",
		"return w.Reason == domain.WaitTimer && !w.Due.After(m.env.Now)",
		"./internal/engine", "TestADueRetry"),
	seed("the newest version of a plan is followed after a restart", "internal/versions/compiler.go", "\tv, err := r.store.VersionByHash(ctx, hash)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\tif v.Semantics",
		"\tv, err := r.store.VersionByHash(ctx, hash)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\tif p, err := r.store.Plan(ctx, v.PlanID); err == nil {\n\t\tif v, err = r.store.VersionByHash(ctx, p.LatestHash); err != nil {\n\t\t\treturn nil, err\n\t\t}\n\t}\n\tif v.Semantics",
		"./internal/engine", "TestARunKeepsItsPlan"),
	seed("nobody waits for a lock", "internal/store/store.go", "_error_rc=1&_pragma=busy_timeout(5000)", "_error_rc=1&_pragma=busy_timeout(0)", "./internal/store", "TestEveryConnection"),
	seed("a file of the database is opened and closed beside SQLite", "internal/store/wal.go", "\t\tw.s.held[suffix] = f\n", "\t\tdefer f.Close()\n", "./internal/store", "TestLayingOutRoom"),
	seed("a restored schema is not compared", "internal/store/recovery/restore.go", "\treturn nothingAdded(ctx, b.Path, b.Schema, files)\n", "\treturn nil\n", "./internal/store/recovery", "TestARestoreRefusesAMalicious"),
	seed("users are recorded in a second transaction", "internal/store/users.go", "\trows := make([]auditRow, len(said))\n",
		"\tgo func() {\n\t\tfor _, record := range said {\n\t\t\t_ = w.s.Audit(context.Background(), record)\n\t\t}\n\t}()\n\tif len(said) >= 0 {\n\t\treturn nil, nil\n\t}\n\trows := make([]auditRow, len(said))\n",
		"./internal/auth", "TestAChangeAndItsRecord"),
	seed("what a lost request did is not looked up", "internal/app/command.go", "\tcase done:\n", "\tcase done && m.Key == \"\":\n",
		"./internal/app", "TestAKeyActsOnce|TestAPlanIsTriedOnce"),
	seed("a run that kills the daemon is tried for ever", "internal/runstate/machine_recover.go", "w.Crashes >= m.env.Options.QuarantineAfter && ",
		"w.Crashes > 100*m.env.Options.QuarantineAfter && ", "./internal/engine", "TestQuarantine"),
	marked("a model call reserves nothing", "internal/engine/ledger.go", "reserve", "",
		"./internal/engine", "TestParallelItemsShareOneLimit"),
	seed("a conversation starts over at a limit", "internal/runstate/machine_attempt.go", "Interrupted: ev.Cause == StopShutdown || ev.Cause == StopBudget, Cancelled",
		"Interrupted: ev.Cause == StopShutdown, Cancelled",
		"./internal/engine", "TestAConversationStopsAtItsTokens"),
	seed("limits are not asked", "internal/runstate/machine_limits.go", "\treturn Exceeded(l, s)\n", "\t_ = s\n\treturn domain.Message{}\n", "./internal/engine", "TestLimits"),
	marked("a repeated start is one more run of its concurrency key", "internal/engine/start.go", "key-first", "if run, ok, err := s.startedBefore(ctx, \"\"); ok || err != nil {",
		"./internal/engine", "TestARepeatedStart|TestSimultaneousRepeats", "key-again", "if run, ok, err := s.startedBefore(ctx, \"\"); ok || err != nil {"),
	marked("a bulk rerun has no key", "internal/bulk/worker.go", "bulk-key", "_ = fmt.Sprint()",
		"./internal/bulk", "TestACrashBeforeTheBookkeeping"),
	marked("an earlier process's bulk action is not looked up", "internal/bulk/worker.go", "bulk-done", "if w.continued = false; done && w.continued {",
		"./internal/bulk", "TestACrashBeforeTheBookkeeping"),
	marked("runs that wait hide others from a bulk operation", "internal/bulk/worker.go", "bulk-open", "w.open = slices.Insert(w.open, 0, it)",
		"./internal/bulk", "TestRunsThatWait"),
	marked("an action is checked before the last result is decided", "internal/engine/actions.go", "flush-first", "",
		"./internal/engine", "TestAnActionBeside"),
	marked("a resume goes by what is stored", "internal/engine/actions.go", "resume-view", "view, err := a.e.View(context.WithoutCancel(a.e.base), a.id)\n\tif err != nil {\n\t\treturn err\n\t}",
		"./internal/engine", "TestAResumeBeforeTheEnd"),
	marked("a panic loses the rest of the mail", "internal/engine/runner.go", "dismiss", "",
		"./internal/engine", "TestADefect"),
	marked("a panic loses the slots of steps", "internal/engine/runner.go", "return-slot", "",
		"./internal/engine", "TestADefect"),
	marked("a stale grant is a slot", "internal/engine/slots.go", "stale-grant", "if token == 0 {",
		"./internal/engine", "TestAStaleGrant"),
	marked("a child outlives its failed run", "internal/engine/subplan.go", "orphans", "if len(v.State.UnneededChildren(children)) > 0 && v.Run.Status == domain.RunCancelled {",
		"./internal/engine", "TestNoChildOutlives"),
	marked("a run waits for a child that cannot be resumed", "internal/engine/subplan.go", "child-refused", "return",
		"./internal/engine", "TestAResumeOfAChildInDoubt"),
	marked("what was done with a key is forgotten", "internal/runstate/machine.go", "receipt", "_ = kept",
		"./internal/app", "TestAKeyActsOnce"),
	marked("an approval that is not on disk stays open", "internal/runstate/machine_approval.go", "close-approval",
		"p := approvalOf(m, w)\n\tif m.Run.LastSeq < w.RequestSeq {\n\t\treturn\n\t}",
		"./internal/engine", "TestAFailingRunCloses|TestACancelCloses"),
	marked("a resume opens no approvals again", "internal/runstate/machine_action.go", "resume-reopens", "checkChildren(m)",
		"./internal/engine", "TestResumeReopens"),
	marked("a finished run stays paused", "internal/runstate/machine_status.go", "final-pause", "if on := m.State.Paused; on != m.Run.Paused {",
		"./internal/engine", "TestAPauseEnds"),
	seed("a route without a permission", "web/runs/section.go", "{Get: \"/runs\", Operation: app.ListRuns,", "{Get: \"/runs\", Operation: \"\",", "./web", "TestRouteMatrix"),
	seed("a node's name is drawn as it is", "internal/diagram/svg.go", "html.EscapeString(strings.ToValidUTF8(s, \"\ufffd\"))", "strings.ToValidUTF8(s, \"\ufffd\")+html.EscapeString(\"\")", "./internal/diagram", "Test"),
	seed("forms need no token", "web/request.go", "if !hmac.Equal([]byte(c.Request().PostForm.Get(\"csrf\")), []byte(r.who.csrf)) {", "if hmac.Equal([]byte(c.Request().PostForm.Get(\"csrf\")), []byte(\"forged?\")) {",
		"./web", "TestRouteMatrix"),
	seed("other sites may send forms", "web/server.go", "s.limited(guard.Handler(s.strict(s.echo)))", "s.limited(s.echo)", "./web", "TestRouteMatrix",
		"\tguard := http.NewCrossOriginProtection()\n", ""),
	seed("roles are not asked", "internal/app/policy.go", "case !who.Role.Includes(r.Role):", "case !who.Role.Includes(r.Role) && r.Role == \"\":", "./internal/api", "TestRolesMatrix"),
	seed("private addresses may be called", "internal/tool/address.go", "\t\tif !public(face) && ", "\t\tif !face.IsValid() && ", "./internal/tool", "TestHTTPRefusesAddresses"),
	marked("a resume forgets what an agent did", "internal/runstate/settle.go", "resume-forgets", "s.Carried[k] = Carryover{Attempt: max(w.Attempt, e.Attempt), Retries: w.Retries}",
		"./internal/handler", "TestAResumeDoesNotRepeat"),
	marked("only the first record of a commit is announced", "internal/events/bus.go", "announce", "b.commit(events[:min(1, len(events))])",
		"./internal/engine", "TestEventsAreTheSame|TestSimulation"),
	marked("a listener that is behind is not told to start over", "internal/events/bus.go", "overflow", "l.buffer, l.events, l.bytes = nil, 0, 0",
		"./internal/engine", "TestASlowListener"),
	marked("a schema may apply one part in too many ways", "planner/schema.go", "schema-weight", "if shared && weigh(context.Background(), compiled, nil) != nil && !shared {",
		"./planner", "TestSchemasThatDouble"),
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// inject gives the bug's file with the bug in it.
func (b bug) inject(t *testing.T) (path, text string) {
	t.Helper()
	path = filepath.Join(root(t), filepath.FromSlash(b.file))
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = string(src)
	for _, e := range b.edits {
		old, with := e.old, e.new
		if e.mark != "" {
			old, with = "", e.new+"\n"
			for line := range strings.Lines(text) {
				if strings.HasSuffix(line, " //seed:"+e.mark+"\n") {
					old = line
				}
			}
		}
		if n := strings.Count(text, old); n != 1 || old == "" {
			t.Fatalf("the bug %q no longer fits: %s contains its text or its mark %q %d times; update the seed, or remove it if the code cannot have the bug", b.name, b.file, e.mark, n)
		}
		text = strings.Replace(text, old, with, 1)
	}
	return path, text
}

// Every bug still fits the source, and compiles in it.
func TestSeededBugsFit(t *testing.T) {
	t.Parallel()
	var pkgs []string
	for _, b := range bugs {
		if pkg := "./" + filepath.ToSlash(filepath.Dir(b.file)); !slices.Contains(pkgs, pkg) {
			pkgs = append(pkgs, pkg)
		}
	}
	c := newChecker(t, pkgs...)
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			if err := c.check(b.inject(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// apply puts the bug into a copy of its file and gives the file that tells the
// compiler of it.
func (b bug) apply(t *testing.T) string {
	t.Helper()
	path, mended := b.inject(t)
	dir := t.TempDir()
	changed := filepath.Join(dir, filepath.Base(b.file))
	if err := os.WriteFile(changed, []byte(mended), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return list
}

// A test that cannot fail proves nothing: each of these mistakes is made in turn,
// and the tests must notice every one (T17).
func TestSeededBugsAreCaught(t *testing.T) {
	if proof.Large() == 0 {
		t.Skip("KAIROS_PROOF is not set")
	}
	caught := 0
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			if only := os.Getenv("KAIROS_BUG"); only != "" && !strings.Contains(b.name, only) {
				t.Skip("KAIROS_BUG names others")
			}
			cmd := exec.Command("go", "test", "-short", "-count=1", "-failfast", "-timeout=2m", "-run", b.run, b.pkg)
			cmd.Dir = root(t)
			for _, v := range os.Environ() {
				if !strings.HasPrefix(v, "KAIROS_") && !strings.HasPrefix(v, "GOFLAGS=") {
					cmd.Env = append(cmd.Env, v)
				}
			}
			// The daemon that a test builds has the bug too.
			cmd.Env = append(cmd.Env, "GOFLAGS=-overlay="+b.apply(t))
			out, err := cmd.CombinedOutput()
			switch text := string(out); {
			case err == nil:
				t.Errorf("nobody noticed; %s -run %s passes", b.pkg, b.run)
			case strings.Contains(text, "[build failed]") || strings.Contains(text, "build kairosd") || !strings.Contains(text, "FAIL"):
				t.Errorf("the bug does not compile: %s", out)
			default:
				caught++
				first, _, _ := strings.Cut(text[max(0, strings.Index(text, "_test.go:")):], "\n")
				t.Logf("noticed: %.200s", first)
			}
		})
	}
	proof.Figure(t, "seeded bugs caught", caught)
	proof.Figure(t, "seeded bugs", len(bugs))
}
