package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// ActionCheckpoint is the action of the record of a checkpoint.
const ActionCheckpoint = core.ActionCheckpoint

// chainHead is the end of the audit chain, and the rows that the active transaction adds.
type chainHead struct {
	seq   int64       // last audit sequence number that is committed
	next  int64       // last number assigned in the active transaction
	mac   []byte      // the link of seq
	rows  []auditRow  // reused by every transaction
	added [1]auditRow // of most operations, before they are in rows
}

// writeAudit numbers and inserts the rows. The last row has the chain's link over all of them.
func (w *writer) writeAudit(rows []auditRow) ([]domain.AuditEvent, []byte, error) {
	if len(rows) == 0 {
		return nil, w.chain.mac, nil
	}
	at := w.s.now().UnixMicro()
	link := newLink(w.s.db.Secrets.AuditKey, w.chain.mac)
	events := make([]domain.AuditEvent, len(rows))
	var mac []byte
	for i := range rows {
		r := &rows[i]
		p := dbsqlc.AuditEvent{Seq: w.chain.seq + int64(i) + 1, At: at, FirstSeq: r.firstSeq, RunSeq: r.runSeq, Digest: r.digest,
			Action: r.record.Action, Actor: r.record.Actor, Source: r.record.Source, Request: r.record.Request.ID,
			Address: r.record.Request.Address, Object: r.record.Object,
			Result: r.record.Result, Reason: r.record.Reason, Detail: core.JSONText(r.record.Detail)}
		if r.rowID != 0 {
			p.RunID = &r.rowID
		}
		if p.Result == "" {
			p.Result = "ok"
		}
		link.add(&p)
		if i == len(rows)-1 {
			mac = link.sum()
			p.Mac = mac
		}
		if err := w.direct.insertAudit(&p); err != nil {
			return nil, nil, err
		}
		e := domain.AuditEvent{
			Seq:         p.Seq,
			RunSeq:      p.RunSeq,
			FirstSeq:    p.FirstSeq,
			At:          time.UnixMicro(at).UTC(),
			AuditRecord: r.record,
			Entries:     r.entries,
		}
		e.Result = p.Result
		if n := len(r.entries); n > 0 {
			e.Entry = &r.entries[n-1]
		}
		if p.Mac != nil {
			e.Mac = hex.EncodeToString(p.Mac)
		}
		events[i] = e
	}
	return events, mac, nil
}

// link is the HMAC-SHA256 of the previous link and of all rows since then.
type link struct {
	h interface {
		Write([]byte) (int, error)
		Sum([]byte) []byte
	}
	b []byte
}

func newLink(key, before []byte) *link {
	l := &link{h: hmac.New(sha256.New, key)}
	l.h.Write(before)
	return l
}

// add writes every field with its length, so that different rows never have the same encoding.
func (l *link) add(p *dbsqlc.AuditEvent) {
	b := l.b[:0]
	run := int64(0)
	if p.RunID != nil {
		run = *p.RunID
	}
	for _, n := range []int64{p.Seq, p.At, run, p.FirstSeq, p.RunSeq} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	field := func(s string) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	field(string(p.Digest))
	for _, s := range []string{p.Action, p.Actor, p.Source, p.Object, p.Result, p.Reason, p.Request, p.Address} {
		field(s)
	}
	if p.Detail != nil {
		field(*p.Detail)
	}
	l.h.Write(b)
	l.b = b
}

func (l *link) sum() []byte { return l.h.Sum(nil) }

// AuditReport is the result of VerifyAudit.
type AuditReport struct {
	Events int64 // rows read
	Links  int64 // links read
	Last   int64 // sequence number of the last row
	// Unauthenticated is the last event that was written with a lost key file; 0 means none. That
	// event and the events before it cannot be verified.
	Unauthenticated int64
	// Problems lists the mismatches. If it is empty, no event was edited, removed, or reordered
	// since it was written.
	Problems []string
}

// VerifyAudit reads the whole audit log. It checks numbering, chain, the journal rows that the
// events cover, and the anchor.
func (s auditLog) VerifyAudit(ctx context.Context) (AuditReport, error) {
	cut, err := cutOf(ctx, s.store.q)
	if err != nil {
		return AuditReport{}, err
	}
	c := &auditCheck{s: s.store, cut: cut, vouched: cut.Seq == 0, steps: &stepHashes{s: s.store, purged: map[int64]bool{}}}
	begin, err := hex.DecodeString(cut.Mac)
	if err != nil {
		c.problem("cannot read where the log was cut")
	}
	if usable, err := c.key(ctx); err != nil || !usable {
		return c.AuditReport, err
	}
	c.link, c.Last = newLink(s.store.db.Secrets.AuditKey, begin), cut.Seq
	for {
		events, err := s.store.auditWindow(ctx, c.Last)
		if err != nil {
			return c.AuditReport, err
		}
		if len(events) == 0 {
			break
		}
		changed, err := s.store.checkSeals(ctx, events)
		if err != nil {
			return c.AuditReport, err
		}
		c.Problems = append(c.Problems, changed...)
		for i := range events {
			if err := c.event(ctx, &events[i]); err != nil {
				return c.AuditReport, err
			}
		}
	}
	if !c.vouched {
		c.problem("the log begins after event %d, and no event records that it was cut there", cut.Seq)
	}
	if c.unlinked > 0 {
		c.problem("the last %d events are not in the chain", c.unlinked)
	}
	// One statement is one snapshot, and a row and its event are committed together.
	silent, err := s.store.q.StepsWithoutAudit(ctx)
	if err != nil {
		return c.AuditReport, core.Translate(err, "read journal rows")
	}
	if silent > 0 {
		c.problem("%d journal rows have no audit event", silent)
	}
	return c.AuditReport, c.anchor(ctx)
}

// auditCheck is the state of one VerifyAudit.
type auditCheck struct {
	AuditReport
	s        *Store
	cut      auditCut
	link     *link
	unlinked int64 // events after the last link
	vouched  bool  // an event records the cut
	steps    *stepHashes
}

func (c *auditCheck) problem(format string, args ...any) {
	c.Problems = append(c.Problems, fmt.Sprintf(format, args...))
}

// key finds the first event that the key file can verify. Without a usable key it records the problem
// and returns false.
func (c *auditCheck) key(ctx context.Context) (usable bool, err error) {
	if c.Unauthenticated, err = c.s.keyedFrom(ctx); err != nil || c.s.keyless {
		return err == nil, err
	}
	secrets := &c.s.db.Secrets
	last, err := c.s.q.AuditLast(ctx)
	if err != nil {
		return false, core.Translate(err, "read the audit log")
	}
	if len(secrets.AuditKey) == 0 && last > 0 {
		c.problem("the key file %s.key is missing, so the audit chain cannot be checked; restore the file from your copy", c.s.path)
		c.Last = last
		return false, nil
	}
	print, err := c.s.Setting(ctx, settingKeyPrint)
	if err != nil {
		return false, err
	}
	if print != "" && print != secrets.Derived.Print {
		c.problem("the key file belongs to another database: its fingerprint is %s, not %s", print, secrets.Derived.Print)
		c.Last = last
		return false, nil
	}
	return true, nil
}

// event checks the next event: its number, the rows that it covers, and its link.
func (c *auditCheck) event(ctx context.Context, e *dbsqlc.AuditEvent) error {
	if e.Seq != c.Last+1 {
		c.problem("events %d to %d are missing", c.Last+1, e.Seq-1)
	}
	c.Last = e.Seq
	c.Events++
	c.link.add(e)
	c.unlinked++
	if e.Action == actionCut && e.Detail != nil && *e.Detail == core.EncodeJSON(c.cut) {
		c.vouched = true
	}
	problem, err := c.steps.check(ctx, e)
	if err != nil {
		return err
	}
	if problem != "" {
		c.Problems = append(c.Problems, problem)
	}
	if e.Mac == nil {
		return nil
	}
	if !c.s.keyless && e.Seq > c.Unauthenticated && !hmac.Equal(c.link.sum(), e.Mac) {
		c.problem("the chain breaks between events %d and %d", e.Seq-c.unlinked+1, e.Seq)
	}
	c.link = newLink(c.s.db.Secrets.AuditKey, e.Mac)
	c.Links++
	c.unlinked = 0
	return nil
}

// anchor compares the end of the log with the anchor file.
func (c *auditCheck) anchor(ctx context.Context) error {
	at, err := core.ReadAnchor(c.s.path + ".anchor")
	if err != nil {
		return err
	}
	behind, err := c.s.db.OlderThan(ctx, c.s.q, at)
	if err != nil || !behind {
		return err
	}
	if at.Seq > c.Last {
		c.problem("the anchor is at event %d: events %d to %d are missing", at.Seq, c.Last+1, at.Seq)
		return nil
	}
	c.problem("event %d differs from the one in the anchor", at.Seq)
	return nil
}

// auditWindow reads the next events, without the columns that only lists show.
func (s auditLog) auditWindow(ctx context.Context, after int64) ([]dbsqlc.AuditEvent, error) {
	out := make([]dbsqlc.AuditEvent, 0, core.VerifyRows)
	err := s.store.db.EachRow(ctx, dbsqlc.CheckAuditEvents, core.Ordinals(after, core.VerifyRows), func(v []driver.Value) error {
		f := core.Fields{Values: v}
		out = append(
			out,
			dbsqlc.AuditEvent{Seq: f.Int(), At: f.Int(), RunID: f.IntOrNull(), FirstSeq: f.Int(), RunSeq: f.Int(), Digest: f.Blob(),
				Action: f.Text(), Actor: f.Text(), Source: f.Text(), Object: f.Text(), Result: f.Text(), Reason: f.Text(),
				Detail: f.TextOrNull(), Request: f.Text(), Address: f.Text(), Mac: f.Blob()},
		)
		return f.Err
	})
	return out, core.Translate(err, "read the audit log")
}

// stepHashes compares events with the journal rows that they cover. Rows are stored in the order of
// their events, so both are read once, in parallel. A row that is not in that order is looked up.
type stepHashes struct {
	s      *Store
	buffer []stepHash
	last   int64 // row id
	end    bool
	purged map[int64]bool // runs that retention has purged
}

type stepHash struct {
	id, run, event int64
	hash           []byte
}

// check compares one event with its rows and returns a problem, or "". Call it for events in order.
func (h *stepHashes) check(ctx context.Context, e *dbsqlc.AuditEvent) (problem string, err error) {
	if e.Digest == nil || e.RunID == nil || h.purged[*e.RunID] {
		return "", nil
	}
	sum, n := sha256.New(), int64(0)
	for {
		if len(h.buffer) == 0 && !h.end {
			if err := h.fill(ctx); err != nil {
				return "", err
			}
		}
		if len(h.buffer) == 0 || h.buffer[0].event > e.Seq {
			break
		}
		if r := h.buffer[0]; r.event == e.Seq && r.run == *e.RunID {
			sum.Write(r.hash)
			n++
		}
		h.buffer = h.buffer[1:]
	}
	if n == e.RunSeq-e.FirstSeq+1 && hmac.Equal(sum.Sum(nil), e.Digest) {
		return "", nil
	}
	if problem, err = h.s.checkDigest(ctx, *e); err != nil || problem != "" {
		return problem, err
	}
	at, err := h.s.q.RunPurgedAt(ctx, *e.RunID)
	if at != 0 && len(h.purged) < 1_000_000 {
		h.purged[*e.RunID] = true
	}
	return "", core.Translate(err, "read a run")
}

func (h *stepHashes) fill(ctx context.Context) error {
	h.buffer = make([]stepHash, 0, core.VerifyRows)
	err := h.s.db.EachRow(ctx, dbsqlc.CheckStepHashes, core.Ordinals(h.last, core.VerifyRows), func(v []driver.Value) error {
		f := core.Fields{Values: v}
		h.buffer = append(h.buffer, stepHash{id: f.Int(), run: f.Int(), event: f.Int(), hash: f.Blob()})
		return f.Err
	})
	if n := len(h.buffer); n > 0 {
		h.last = h.buffer[n-1].id
	}
	h.end = len(h.buffer) == 0
	return core.Translate(err, "read journal rows")
}

// checkDigest compares the journal rows that an event covers with the event's digest. Of rows that
// retention deleted, only the digest remains.
func (s auditLog) checkDigest(ctx context.Context, e dbsqlc.AuditEvent) (string, error) {
	if e.Digest == nil || e.RunID == nil {
		return "", nil
	}
	hashes, err := s.store.q.StepHashes(ctx, *e.RunID, e.FirstSeq, e.RunSeq)
	if err != nil {
		return "", core.Translate(err, "read journal rows")
	}
	sum := sha256.New()
	for _, h := range hashes {
		sum.Write(h)
	}
	if int64(len(hashes)) != e.RunSeq-e.FirstSeq+1 || !hmac.Equal(sum.Sum(nil), e.Digest) {
		if purged, err := s.store.q.RunPurgedAt(ctx, *e.RunID); errors.Is(err, sql.ErrNoRows) {
			return fmt.Sprintf("event %d covers journal rows of a missing run", e.Seq), nil
		} else if err != nil || purged != 0 {
			return "", core.Translate(err, "read a run")
		}
		return fmt.Sprintf("event %d does not match the journal rows %d to %d that it covers", e.Seq, e.FirstSeq, e.RunSeq), nil
	}
	// No hash covers the row's reference to its event, because it is not known when the row is
	// hashed.
	astray, err := s.store.q.StepsOfAnotherAudit(
		ctx,
		dbsqlc.StepsOfAnotherAuditParams{RunID: *e.RunID, First: e.FirstSeq, Last: e.RunSeq, AuditSeq: e.Seq},
	)
	if err != nil {
		return "", core.Translate(err, "read journal rows")
	}
	if astray > 0 {
		return fmt.Sprintf(
			"%d of the journal rows %d to %d refer to an event other than %d, which covers them",
			astray,
			e.FirstSeq,
			e.RunSeq,
			e.Seq,
		), nil
	}
	return "", nil
}

// Audit adds a record that does not belong to a checkpoint.
func (s auditLog) Audit(ctx context.Context, r domain.AuditRecord) error {
	rowID, err := s.store.db.RowID(ctx, r.Run)
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	if r.Request == (domain.Request{}) {
		r.Request = domain.RequestOf(ctx)
	}
	return s.store.writer.perform(func(*writer) ([]auditRow, error) { return []auditRow{{rowID: rowID, record: r}}, nil })
}
