package store

import (
	"database/sql"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// accessBefore reports whether the common seal of users, tokens, and second factors matched before
// the operation, and the event of the seal.
type accessBefore struct {
	whole bool
	seq   int64
}

// changesAccess is called before an operation changes users, tokens, or second factors.
func (tx *Tx) changesAccess() error {
	if tx.access != nil {
		return nil
	}
	whole, seq, err := tx.w.s.accessNow(tx.w.ctx, tx.w.q)
	if err == nil {
		tx.access = &accessBefore{whole, seq}
	}
	return err
}

// sealAccess renews the common seal after such a change. It does not if the seal did not match
// before, because one change must not hide another.
func (tx *Tx) sealAccess() error {
	if tx.access == nil || !tx.access.whole {
		return nil
	}
	seq := tx.access.seq
	if len(tx.records) > 0 {
		seq = tx.w.chain.next + int64(len(tx.records))
	}
	return tx.w.s.sealAccess(tx.w.ctx, tx.w.q, seq)
}

// User finds a user by ID or name, including disabled users. It returns CodeNotFound.
func (tx *Tx) User(idOrName string) (domain.User, error) {
	u, err := tx.w.q.UserGet(tx.w.ctx, idOrName)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.User{}, domain.Errorf(domain.CodeNotFound, "user %q not found", idOrName)
	}
	return tx.w.s.user(u), err
}

// OtherAdmins counts the enabled administrators except a user.
func (tx *Tx) OtherAdmins(id string) (int, error) {
	rows, err := tx.w.q.UserList(tx.w.ctx)
	n := 0
	for _, row := range rows {
		if u := tx.w.s.user(row); u.ID != id && u.Role == domain.RoleAdmin && !u.Disabled {
			n++
		}
	}
	return n, err
}

// CreateUser stores a new user. A name or identity that is in use is CodeConflict.
func (tx *Tx) CreateUser(u domain.User) error {
	if err := tx.changesAccess(); err != nil {
		return err
	}
	return tx.w.s.insertUser(tx.w.ctx, tx.w.q, u)
}

// ChangeUser writes all fields of a user except ID, Name, and CreatedAt, and records the change. If
// the change ends sessions, it also accepts a user that another program changed, and seals the row.
func (tx *Tx) ChangeUser(u domain.User, change domain.UserChange) error {
	if err := tx.changesAccess(); err != nil {
		return err
	}
	if err := tx.w.s.updateUser(tx.w.ctx, tx.w.q, u, change.EndsSessions); err != nil {
		return err
	}
	if change.Reason != "" {
		tx.Record("user.update", "user:"+u.Name, change.Reason, change.Detail)
	}
	if !change.EndsSessions {
		return nil
	}
	return tx.EndSessions(u.ID, change.Keep)
}

// Session finds a session by its hash. It returns CodeNotFound.
func (tx *Tx) Session(hash string) (domain.Session, error) {
	r, err := tx.w.q.SessionGet(tx.w.ctx, hash)
	if err == nil && !tx.w.s.matches(r.Seal, tx.w.s.sessionSeal(&r)) {
		err = sql.ErrNoRows // its seal does not match
	}
	return session(r), err
}

// EndSession deletes a session. A missing session is not an error.
func (tx *Tx) EndSession(hash string) error { return tx.w.q.SessionDelete(tx.w.ctx, hash) }

// EndSessions deletes all sessions of a user except the one with the hash keep, if it is not empty.
func (tx *Tx) EndSessions(userID, keep string) error {
	return tx.w.q.SessionDeleteOfUser(tx.w.ctx, userID, keep)
}

// TokenByID finds a token, including revoked and expired ones. It returns CodeNotFound.
func (tx *Tx) TokenByID(id string) (domain.Token, error) {
	r, err := tx.w.q.TokenByID(tx.w.ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Token{}, domain.Errorf(domain.CodeNotFound, "token %q not found", id)
	} else if err != nil {
		return domain.Token{}, err
	}
	return tx.w.s.token(r)
}

// CreateToken stores a token.
func (tx *Tx) CreateToken(t domain.Token) error {
	if err := tx.changesAccess(); err != nil {
		return err
	}
	scopes := t.Scopes
	if scopes == nil {
		scopes = []string{}
	}
	row := dbsqlc.Token{ID: t.ID, Name: t.Name, Prefix: t.Prefix, SecretHash: t.SecretHash, Role: string(t.Role),
		Scopes: core.EncodeJSON(scopes), CreatedBy: t.CreatedBy, CreatedAt: core.Micros(t.CreatedAt), ExpiresAt: core.Micros(t.ExpiresAt)}
	row.Seal = tx.w.s.tokenSeal(&row)
	return tx.w.q.TokenInsert(
		tx.w.ctx,
		dbsqlc.TokenInsertParams{ID: row.ID, Name: row.Name, Prefix: row.Prefix, SecretHash: row.SecretHash, Role: row.Role,
			Scopes: row.Scopes, CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, Seal: row.Seal},
	)
}

// RevokeToken sets when a token was revoked. A revoked token keeps its time. It returns
// CodeNotFound.
func (tx *Tx) RevokeToken(id string, at time.Time) error {
	if err := tx.changesAccess(); err != nil {
		return err
	}
	row, err := tx.w.q.TokenByID(tx.w.ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Errorf(domain.CodeNotFound, "token %q not found", id)
	} else if err != nil {
		return err
	}
	if row.RevokedAt == 0 {
		row.RevokedAt = core.Micros(at)
	}
	return tx.w.q.TokenRevoke(tx.w.ctx, row.RevokedAt, tx.w.s.tokenSeal(&row), id)
}

// SecondFactor returns the stored second factor of a user, or "". It returns CodeCorrupt if another
// program wrote it.
func (tx *Tx) SecondFactor(userID string) (string, error) {
	sealed, err := tx.w.q.SecondFactorGet(tx.w.ctx, userID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return tx.w.s.unsealText(factorName(userID), sealed)
}

// SetSecondFactor encrypts and stores the second factor of a user. "" removes it.
func (tx *Tx) SetSecondFactor(userID, value string) error {
	if err := tx.changesAccess(); err != nil {
		return err
	}
	if value == "" {
		return tx.w.q.SecondFactorDelete(tx.w.ctx, userID)
	}
	sealed, err := tx.w.s.sealText(factorName(userID), value)
	if err != nil {
		return err
	}
	return tx.w.q.SecondFactorPut(tx.w.ctx, userID, sealed)
}
