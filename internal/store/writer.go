package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/store/statement"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// batchCap limits the operations of one transaction.
const batchCap = 512

// op is one atomic operation of the writer.
type op struct {
	// apply executes the operation and returns its audit rows. If it returns a *domain.Error before
	// it wrote anything, the operation is rejected and the rest of the batch continues. After any
	// other error, or a rejection after a write, the whole batch is rolled back and each operation
	// is attempted separately.
	apply func(w *writer) ([]auditRow, error)
	done  func(error)
	// savepoint rolls back only the writes of apply if it returns an error. Such an operation
	// changes no run.
	savepoint bool
	// ofRun reports that the operation affects only one run.
	ofRun bool
	// evenFull allows the operation on a full disk, because it frees space, or is small and an
	// operator needs it then.
	evenFull bool
	chain    *domain.Chain
}

// auditRow is an audit record to be added to the chain.
type auditRow struct {
	rowID    int64 // of the run, 0: none
	firstSeq int64
	runSeq   int64
	digest   []byte
	entries  []domain.Entry // for listeners
	record   domain.AuditRecord
}

// writer is the goroutine that writes. It takes all waiting operations and commits them together
// (group commit). The caller's done is called when its operation is durable.
type writer struct {
	s       *Store
	conn    *sql.Conn
	c       *statement.Conn // the same
	q       *dbsqlc.Queries
	queries writing
	// emptyWAL moves the write-ahead log into the database.
	emptyWAL *sql.Stmt
	direct   directStatements

	mu      sync.Mutex
	queue   []op
	spare   []op
	wake    chan struct{}
	closing bool
	ended   chan struct{}
	failed  chan struct{}
	failure error

	onCommit atomic.Pointer[func([]domain.AuditEvent)]
	onBatch  atomic.Pointer[func(writes int, took time.Duration)]

	// Only the goroutine uses these.
	version int64 // of the database after the last commit; -1: unknown
	chain   chainHead
	tally   tally
	hot     map[int64]*runState
	moved   []int64 // runs whose rows settleRuns must write
	wal     walGauge
	reserve reserve
	ctx     context.Context
}

func newWriter(s *Store, conn *sql.Conn, seq int64, mac []byte) (*writer, error) {
	w := &writer{s: s, conn: conn, chain: chainHead{seq: seq, mac: mac}, wake: make(chan struct{}, 1), ended: make(chan struct{}),
		failed: make(chan struct{}), version: -1, hot: map[int64]*runState{}, tally: newTally(),
		ctx: context.Background()} // an accepted write is completed, even if its caller's context ends
	w.wal.unanchored = true
	var err error
	if w.emptyWAL, err = conn.PrepareContext(w.ctx, "PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
		return nil, core.Translate(err, "prepare the writer")
	}
	if err := conn.Raw(func(c any) (err error) { w.c, err = statement.Of(c); return err }); err != nil {
		return nil, err
	}
	w.queries = writing{lazy: lazy{on: conn}, c: w.c, writes: map[string]*statement.Stmt{}}
	w.q = dbsqlc.New(&w.queries)
	for _, p := range w.direct.all() {
		if *p.stmt, err = w.c.Prepare(p.text); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// submit queues operations. Their done functions are called once each, in order, and never in the
// caller's goroutine, because it may hold locks that done needs.
func (w *writer) submit(ops ...op) {
	w.mu.Lock()
	if w.closing || w.failure != nil {
		err := w.failure
		w.mu.Unlock()
		if err == nil {
			err = domain.Errorf(domain.CodeUnavailable, "the store is closed")
		}
		go finish(ops, err)
		return
	}
	w.queue = append(w.queue, ops...)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// do submits an operation and waits until it is durable. The wait does not end with a context,
// because an accepted write happens, and the caller must have its result.
func (w *writer) do(o op) error {
	if w == nil {
		return errReadOnly()
	}
	result := make(chan error, 1)
	o.done = func(err error) { result <- err }
	w.submit(o)
	return <-result
}

func errReadOnly() error {
	return domain.Errorf(domain.CodeUnavailable, "the store is read-only")
}

// perform is do for work that continues no run.
func (w *writer) perform(apply func(w *writer) ([]auditRow, error)) error {
	return w.do(op{apply: apply})
}

// performEvenFull is perform for work that is allowed on a full disk.
func (w *writer) performEvenFull(apply func(w *writer) ([]auditRow, error)) error {
	return w.do(op{apply: apply, evenFull: true})
}

func (w *writer) run() {
	defer close(w.ended)
	for {
		w.mu.Lock()
		batch := w.queue
		if len(batch) > batchCap {
			w.queue = batch[batchCap:]
			batch = batch[:batchCap:batchCap]
		} else {
			w.queue, w.spare = w.spare[:0], batch
		}
		closing, failure := w.closing, w.failure
		w.mu.Unlock()
		switch {
		case len(batch) == 0 && closing:
			return
		case len(batch) == 0:
			if !w.layOut() && !w.growReserve() {
				<-w.wake
			}
		case failure != nil:
			finish(batch, failure)
		default:
			w.commit(batch)
			w.checkpointIfDue()
		}
		clear(batch)
	}
}

func finish(batch []op, err error) {
	for _, o := range batch {
		o.done(err)
	}
}

// commit writes a batch. If that fails because of one operation, it writes them one by one.
func (w *writer) commit(batch []op) {
	results := make([]error, len(batch))
	began := time.Now()
	noRoom := w.makeRoom()
	w.recoverSpace()
	var events []domain.AuditEvent
	err := noRoom
	if err == nil {
		events, err = w.transaction(batch, results)
	}
	if core.Primary(err) == lib.SQLITE_FULL && !w.wal.full {
		w.wal.full = true
		if w.makeRoom() == nil && !w.wal.full {
			clear(results)
			events, err = w.transaction(batch, results)
		}
	}
	if core.Primary(err) == lib.SQLITE_FULL && w.dropReserve() {
		w.wal.full = true
		if noRoom = w.makeRoom(); noRoom == nil {
			clear(results)
			events, err = w.transaction(batch, results)
		}
	}
	if f := w.onBatch.Load(); err == nil && f != nil {
		(*f)(len(batch), time.Since(began))
	}
	if err != nil && noRoom == nil && len(batch) > 1 && !core.Fatal(err) && w.stoppedBy() == nil {
		w.s.log.Warn("commit in single steps", "operations", len(batch), "err", err)
		for i := range batch {
			if failure := w.stoppedBy(); failure != nil {
				finish(batch[i:], failure)
				return
			}
			w.commit(batch[i : i+1])
		}
		return
	}
	if err != nil {
		if core.Fatal(err) {
			w.fail(err)
		}
		err = core.Translate(err, "commit")
		for i := range results {
			results[i] = err
		}
	}
	now := w.s.now()
	if w.wal.unanchored && len(events) > 0 { // before a caller relies on it
		if err := w.s.anchor.moveNow(w.chain.seq, w.chain.mac, now); err != nil {
			w.s.log.Error("audit anchor", "err", err)
		} else {
			w.wal.unanchored = false
		}
	}
	for i, o := range batch {
		if results[i] != nil {
			o.chain.Break()
		}
		o.done(results[i])
	}
	failpoint.Hit("commit.acknowledged")
	if len(events) == 0 {
		return
	}
	if f := w.onCommit.Load(); f != nil {
		(*f)(events)
	}
	if err := w.s.anchor.move(w.chain.seq, w.chain.mac, now); err != nil {
		w.s.log.Error("audit anchor", "err", err)
	}
}

// transaction applies a batch. Rejected operations get their error in results. An error of the
// transaction itself rolls back all of it.
func (w *writer) transaction(batch []op, results []error) (_ []domain.AuditEvent, err error) {
	if err := w.direct.begin.Exec(); err != nil {
		return nil, err
	}
	w.chain.next, w.tally.failures = w.chain.seq, false
	defer func() {
		if err != nil {
			clear(w.hot)
			w.tally.clear()
			w.moved = w.moved[:0]
			if undo := w.direct.undo.Exec(); undo != nil {
				// After some errors, SQLite has already rolled back.
				w.s.log.Debug("rollback", "err", undo)
			}
		}
	}()
	if err := w.checkOpenCount(); err != nil {
		return nil, err
	}
	rows := w.chain.rows[:0]
	var broken map[*domain.Chain]bool // in this batch, which may still be rolled back
	for i, o := range batch {
		if o.chain.Broken() || broken[o.chain] {
			results[i] = domain.Errorf(domain.CodeConflict, "an earlier checkpoint of this run was rejected")
			continue
		}
		if !o.ofRun { // it may use any run
			if err := w.settleRuns(); err != nil {
				return nil, err
			}
		}
		var added []auditRow
		var opErr error
		changes := w.c.TotalChanges()
		if !o.evenFull && w.reserve.low && w.s.started.Load() {
			opErr = errFullDisk()
		} else if o.savepoint {
			added, opErr = w.applySaved(o)
			changes = w.c.TotalChanges()
		} else {
			added, opErr = o.apply(w)
		}
		if opErr != nil {
			if _, refused := errors.AsType[*domain.Error](opErr); !refused || core.Fatal(opErr) || w.c.TotalChanges() != changes {
				return nil, opErr
			}
			results[i] = opErr
			if o.chain != nil {
				if broken == nil {
					broken = map[*domain.Chain]bool{}
				}
				broken[o.chain] = true
			}
			continue
		}
		rows = append(rows, added...)
		w.chain.next += int64(len(added))
	}
	w.chain.rows = rows
	if err := w.settleRuns(); err != nil {
		return nil, err
	}
	if err := w.tally.write(w.ctx, w.q); err != nil {
		return nil, err
	}
	events, mac, err := w.writeAudit(rows)
	clear(rows)
	if err != nil {
		return nil, err
	}
	failpoint.Hit("commit.before")
	if err := w.direct.end.Exec(); err != nil {
		return nil, err
	}
	failpoint.Hit("commit.after")
	if w.tally.failures {
		w.s.failures.moved()
	}
	if w.version, err = w.c.Version(); err != nil {
		w.version = -1 // it is durable; the next transaction checks the open count
	}
	if len(events) > 0 {
		w.chain.seq += int64(len(events))
		w.chain.mac = mac
	}
	return events, nil
}

// applySaved applies an operation inside a savepoint.
func (w *writer) applySaved(o op) ([]auditRow, error) {
	if err := w.direct.save.Exec(); err != nil {
		return nil, err
	}
	rows, opErr := o.apply(w)
	if _, refused := errors.AsType[*domain.Error](opErr); opErr != nil && !refused {
		return nil, opErr // the whole transaction is rolled back; after some errors SQLite has done it
	}
	if opErr != nil {
		if err := w.direct.back.Exec(); err != nil {
			return nil, err
		}
	}
	return rows, cmp.Or(w.direct.release.Exec(), opErr)
}

// stoppedBy returns why the store has stopped, or nil.
func (w *writer) stoppedBy() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure
}

// checkOpenCount verifies, once per transaction, that no other process has opened the database for
// writing. If nothing else was written, the open count need not be read.
func (w *writer) checkOpenCount() error {
	v, err := w.c.Version()
	if err != nil || v == w.version {
		return err
	}
	openCount, err := w.q.SettingGet(w.ctx, "epoch")
	if errors.Is(err, sql.ErrNoRows) {
		return errors.New("the database has no open count")
	} else if err != nil {
		return err
	}
	if openCount != strconv.FormatInt(w.s.generation, 10) {
		w.fail(domain.Errorf(domain.CodeLocked, "another process has opened the database for writing"))
		return w.stoppedBy()
	}
	return nil
}

// fail stops the store permanently.
func (w *writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure != nil {
		return
	}
	w.failure = domain.Errorf(domain.CodeUnavailable, "storage failed: %w", err).Suggest("check the disk and the log, then restart kairosd")
	w.s.log.Error("storage failed; stopping all writes", "err", err)
	close(w.failed)
}

func (w *writer) close() error {
	w.mu.Lock()
	if w.closing {
		w.mu.Unlock()
		return nil
	}
	w.closing = true
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	select {
	case <-w.ended:
	case <-time.After(30 * time.Second):
		return errors.New("store: writes did not finish in 30 s")
	}
	errs := []error{w.queries.close()}
	for _, p := range w.direct.all() {
		(*p.stmt).Close()
	}
	w.c.Close()
	return errors.Join(append(errs, w.emptyWAL.Close(), w.conn.Close())...)
}
