package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// Rows that grant access or let a run continue carry a seal: an HMAC of the row. Its key is derived
// from the key file, which is not in the database or in a backup. These rows are users, tokens,
// sessions, and pending approvals. A row whose seal does not match grants nothing. Second factors
// are encrypted and authenticated. One more seal covers all users, tokens, and second factors, so
// that a row that was removed or reset to an earlier state is found too.

// settingAccess holds the accessSeal.
const settingAccess = "access_seal"

// accessActions are the audit records that are written together with a change of
// users, tokens, or second factors.
var accessActions = []string{"setup", "user.create", "user.update", "user.second-factor", "token.create", "token.revoke", actionAccessReset}

// actionAccessReset is the audit action of a restore or a start without the key file.
const actionAccessReset = "access.reset"

// rowSeal is the seal of a row.
func (s access) rowSeal(kind string, numbers []int64, texts ...string) []byte {
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(kind))), kind...)
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	for _, t := range texts {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(t))), t...)
	}
	m := hmac.New(sha256.New, s.store.db.Secrets.Derived.Access)
	m.Write(b)
	return m.Sum(nil)
}

// matches reports whether a row has its seal. Without the key, it returns true; a store that writes
// always has the key.
func (s access) matches(seal, want []byte) bool {
	return s.store.db.Secrets.AuditKey == nil || s.store.keyless || hmac.Equal(seal, want)
}

func (s access) userSeal(u *dbsqlc.User) []byte {
	return s.store.rowSeal("user", []int64{u.Disabled, u.CreatedAt}, u.ID, u.Name, u.Role, u.PasswordHash, u.Issuer, u.Subject)
}

func (s access) tokenSeal(t *dbsqlc.Token) []byte {
	return s.store.rowSeal(
		"token",
		[]int64{t.CreatedAt, t.ExpiresAt, t.RevokedAt},
		t.ID,
		t.Name,
		t.Prefix,
		t.SecretHash,
		t.Role,
		t.Scopes,
		t.CreatedBy,
	)
}

// approvalSeal covers the request as shown, and its assignee. The decision is in the run's journal.
func (s access) approvalSeal(a *dbsqlc.Approval) []byte {
	return s.store.rowSeal(
		"approval",
		[]int64{a.RunID, a.Visit, a.Item, a.DueAt, a.CreatedAt, a.Rev, a.MayAsk},
		a.PublicID,
		a.PlanKey,
		a.Node,
		a.Message,
		core.OrEmpty(a.Form),
		a.Tool,
		core.OrEmpty(a.Arguments),
		a.Digest,
		a.Status,
		a.OnTimeout,
		a.StartedBy,
		a.Agent,
		a.Label,
		a.Answers,
		a.Assignee,
	)
}

func (s access) sessionSeal(v *dbsqlc.Session) []byte {
	return s.store.rowSeal("session", []int64{v.CreatedAt, v.ExpiresAt}, v.IDHash, v.UserID)
}

// accessSeal covers all users, tokens, and second factors at an audit event.
type accessSeal struct {
	Seq int64  `json:"seq"` // of the last event that recorded a change of them
	MAC string `json:"mac"`
}

// accessMAC computes the MAC of an accessSeal over the stored rows, and counts them.
func (s access) accessMAC(ctx context.Context, q *dbsqlc.Queries, seq int64) (mac string, rows int, err error) {
	m := hmac.New(sha256.New, s.store.db.Secrets.Derived.Access)
	fmt.Fprintf(m, "access at %d\n", seq)
	users, err := q.UserSeals(ctx)
	if err != nil {
		return "", 0, err
	}
	for _, u := range users {
		fmt.Fprintf(m, "user %q %x\n", u.ID, u.Seal)
	}
	tokens, err := q.TokenSeals(ctx)
	if err != nil {
		return "", 0, err
	}
	for _, t := range tokens {
		fmt.Fprintf(m, "token %q %x\n", t.ID, t.Seal)
	}
	factors, err := q.SecondFactors(ctx)
	if err != nil {
		return "", 0, err
	}
	for _, f := range factors {
		fmt.Fprintf(m, "factor %q %q\n", f.UserID, f.Sealed)
	}
	return hex.EncodeToString(m.Sum(nil)), len(users) + len(tokens) + len(factors), nil
}

// accessNow compares the stored rows with their seal. seq is the event of the seal.
func (s access) accessNow(ctx context.Context, q *dbsqlc.Queries) (whole bool, seq int64, err error) {
	var at accessSeal
	text, err := q.SettingGet(ctx, settingAccess)
	if err == nil {
		err = json.Unmarshal([]byte(text), &at)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, 0, err
	}
	mac, rows, err := s.store.accessMAC(ctx, q, at.Seq)
	if err != nil {
		return false, 0, err
	}
	return text == "" && rows == 0 || hmac.Equal([]byte(mac), []byte(at.MAC)), at.Seq, nil
}

// execAccess is execAs for a change of users, tokens, or second factors. It renews their common
// seal, unless the seal does not match, because one change must not hide another.
func (s access) execAccess(doing string, records []domain.AuditRecord, f func(ctx context.Context, q *dbsqlc.Queries) error) error {
	if s.store.writer == nil {
		return errReadOnly()
	}
	err := s.store.writer.performEvenFull(func(w *writer) ([]auditRow, error) {
		whole, seq, err := s.store.accessNow(w.ctx, w.q)
		if err != nil {
			return nil, err
		}
		rows, err := w.applyAs(doing, records, f)
		if err != nil || !whole {
			return rows, err
		}
		if len(rows) > 0 {
			seq = w.chain.next + int64(len(rows))
		}
		return rows, s.store.sealAccess(w.ctx, w.q, seq)
	})
	return core.Translate(err, doing)
}

func (s access) sealAccess(ctx context.Context, q *dbsqlc.Queries, seq int64) error {
	mac, _, err := s.store.accessMAC(ctx, q, seq)
	if err != nil {
		return err
	}
	return q.SettingPut(ctx, settingAccess, core.EncodeJSON(accessSeal{seq, mac}))
}

// CheckAccess compares every row that grants access with its seal. It returns the rows that another
// program changed.
func (s access) CheckAccess(ctx context.Context) ([]string, error) {
	c := domain.Check{}
	err := s.store.VerifyAccess(ctx, &c)
	return c.Problems, err
}

func (s access) VerifyAccess(ctx context.Context, c *domain.Check) error {
	c.Name = "access"
	c.Advice = "logins or approval requests were changed by another program. The listed rows grant no access. " +
		"Find what wrote to the file. Then restore a backup, or accept the other rows: kairosd user repair"
	if s.store.keyless || s.store.db.Secrets.AuditKey == nil {
		return nil
	}
	tx, err := s.store.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // one snapshot for all reads
	if err != nil {
		return core.Translate(err, c.Name)
	}
	defer tx.Rollback()
	q := dbsqlc.New(tx)
	broken, of, err := s.store.brokenAccess(ctx, q)
	if err != nil {
		return core.Translate(err, c.Name)
	}
	c.Checked = int64(of)
	for _, p := range broken.problems() {
		core.Find(c, "%s", p)
	}
	if len(broken.users)+len(broken.tokens)+len(broken.factors) == 0 { // otherwise those rows already explain the mismatch
		if err := s.store.checkAccessSeal(ctx, tx, q, c); err != nil {
			return core.Translate(err, c.Name)
		}
	}
	return nil
}

// checkAccessSeal finds rows that are missing or were reset to an earlier state.
func (s access) checkAccessSeal(ctx context.Context, tx *sql.Tx, q *dbsqlc.Queries, c *domain.Check) error {
	whole, seq, err := s.store.accessNow(ctx, q)
	if err != nil {
		return err
	}
	if !whole {
		core.Find(c, "a user, a token, or a second factor was deleted or reset to an earlier state")
		return nil
	}
	for _, action := range accessActions {
		last, err := q.AuditNewestOf(ctx, action)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		} else if err != nil {
			return err
		}
		if last > seq {
			core.Find(
				c,
				"all users, tokens, and second factors were reset to an earlier state: event %d (%s) changed them since",
				last,
				action,
			)
			return nil
		}
	}
	return nil
}

// accessRows are rows that grant access.
type accessRows struct {
	users     []dbsqlc.User
	tokens    []dbsqlc.Token
	sessions  []dbsqlc.Session
	factors   []dbsqlc.SecondFactor
	approvals []dbsqlc.Approval // open
}

func (r *accessRows) read(ctx context.Context, q *dbsqlc.Queries) error {
	var err1, err2, err3, err4, err5 error
	r.users, err1 = q.UserList(ctx)
	r.tokens, err2 = q.TokenList(ctx)
	r.sessions, err3 = q.SessionsAll(ctx)
	r.factors, err4 = q.SecondFactors(ctx)
	r.approvals, err5 = q.ApprovalsPending(ctx)
	return errors.Join(err1, err2, err3, err4, err5)
}

func (r *accessRows) count() int {
	return len(r.users) + len(r.tokens) + len(r.sessions) + len(r.factors) + len(r.approvals)
}

// brokenAccess returns the rows whose seal does not match, and the number of all rows.
func (s access) brokenAccess(ctx context.Context, q *dbsqlc.Queries) (broken accessRows, of int, err error) {
	if err := broken.read(ctx, q); err != nil {
		return broken, 0, err
	}
	of = broken.count()
	broken.users = slices.DeleteFunc(broken.users, func(u dbsqlc.User) bool { return s.store.matches(u.Seal, s.store.userSeal(&u)) })
	broken.tokens = slices.DeleteFunc(broken.tokens, func(t dbsqlc.Token) bool { return s.store.matches(t.Seal, s.store.tokenSeal(&t)) })
	broken.sessions = slices.DeleteFunc(
		broken.sessions,
		func(v dbsqlc.Session) bool { return s.store.matches(v.Seal, s.store.sessionSeal(&v)) },
	)
	broken.factors = slices.DeleteFunc(broken.factors, func(f dbsqlc.SecondFactor) bool {
		_, err := s.store.unsealText(factorName(f.UserID), f.Sealed)
		return err == nil
	})
	broken.approvals = slices.DeleteFunc(
		broken.approvals,
		func(a dbsqlc.Approval) bool { return s.store.matches(a.Seal, s.store.approvalSeal(&a)) },
	)
	return broken, of, nil
}

func (r *accessRows) problems() []string {
	var out []string
	for _, u := range r.users {
		out = append(out, fmt.Sprintf("user %s (%s) was added or changed", u.Name, u.Role))
	}
	for _, t := range r.tokens {
		out = append(out, fmt.Sprintf("token %s (%s, %s) was added or changed", t.Name, t.Prefix, t.Role))
	}
	for _, v := range r.sessions {
		out = append(out, fmt.Sprintf("a login of user %s was added or changed", v.UserID))
	}
	for _, f := range r.factors {
		out = append(out, fmt.Sprintf("the second factor of user %s was added or changed", f.UserID))
	}
	for _, a := range r.approvals {
		out = append(out, fmt.Sprintf("approval request %s was added or changed", a.PublicID))
	}
	return out
}

// RepairAccess ends the access of rows that another program added or changed, and seals everything
// again. It returns the problems that it found.
func (s access) RepairAccess(ctx context.Context, actor domain.Actor) (found []string, err error) {
	if s.store.writer == nil {
		return nil, errReadOnly()
	}
	if found, err = s.store.CheckAccess(ctx); err != nil || len(found) == 0 {
		return nil, err
	}
	err = s.store.writer.perform(func(w *writer) ([]auditRow, error) {
		b, _, err := s.store.brokenAccess(w.ctx, w.q)
		if err != nil {
			return nil, err
		}
		if err := s.store.endAccess(w, b, "the request was changed by another program"); err != nil {
			return nil, err
		}
		record := domain.AuditRecord{Action: "access.repair", Actor: actor.Name, Source: actor.Source, Request: actor.Request,
			Detail: domain.RawJSON(core.EncodeJSON(map[string]any{"found": found}))}
		return []auditRow{{record: record}}, s.store.sealAccess(w.ctx, w.q, w.chain.next+1)
	})
	return found, core.Translate(err, "repair access")
}

// resetAccess ends all access that the database grants. Its key file is lost, so the rows cannot be
// verified.
func (s access) resetAccess() error {
	return s.store.writer.perform(func(w *writer) ([]auditRow, error) {
		var all accessRows
		if err := all.read(w.ctx, w.q); err != nil {
			return nil, err
		}
		if err := s.store.endAccess(w, all, domain.ApprovalKeyLost); err != nil {
			return nil, err
		}
		if err := w.q.SettingPut(w.ctx, settingKeyPrint, s.store.db.Secrets.Derived.Print); err != nil {
			return nil, err
		}
		record := domain.AuditRecord{
			Action: actionAccessReset,
			Actor:  domain.System.Name,
			Source: domain.System.Source,
			Reason: "the key file was lost",
			Detail: domain.RawJSON(
				core.EncodeJSON(
					map[string]int{"usersDisabled": len(all.users), "tokensRemoved": len(all.tokens), "sessionsRemoved": len(all.sessions),
						"secondFactorsRemoved": len(all.factors), "approvalsCancelled": len(all.approvals)},
				),
			),
		}
		return []auditRow{{record: record}}, s.store.sealAccess(w.ctx, w.q, w.chain.next+1)
	})
}

// endAccess disables the users and removes their passwords and links to an identity provider. It
// removes tokens, sessions, and second factors, and cancels approval requests.
func (s access) endAccess(w *writer, rows accessRows, why string) error {
	for _, u := range rows.users {
		u.Disabled, u.PasswordHash, u.Issuer, u.Subject = 1, "", "", ""
		if _, err := w.q.UserUpdate(w.ctx, dbsqlc.UserUpdateParams{Role: u.Role, Disabled: 1, LastSeenAt: u.LastSeenAt,
			Settings: u.Settings, Seal: s.store.userSeal(&u), ID: u.ID}); err != nil {
			return err
		}
		if err := w.q.SessionDeleteOfUser(w.ctx, u.ID, ""); err != nil {
			return err
		}
	}
	for _, t := range rows.tokens {
		if err := w.q.TokenDelete(w.ctx, t.ID); err != nil {
			return err
		}
	}
	for _, v := range rows.sessions {
		if err := w.q.SessionDelete(w.ctx, v.IDHash); err != nil {
			return err
		}
	}
	for _, f := range rows.factors {
		if err := w.q.SecondFactorDelete(w.ctx, f.UserID); err != nil {
			return err
		}
	}
	for _, a := range rows.approvals {
		if err := w.q.ApprovalClose(w.ctx, dbsqlc.ApprovalCloseParams{DecidedAt: s.store.now().UnixMicro(),
			DecidedBy: domain.System.Name, Comment: why, CommentText: domain.Messagef(why).Encode(),
			PublicID: a.PublicID}); err != nil {
			return err
		}
	}
	return nil
}
