package store

import (
	"database/sql"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// accessBefore is whether the common seal of users, tokens, and second factors matched
// before an operation changed them, and the event that it is as of.
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

// sealAccess renews the common seal after such a change, unless it did not match before: a
// change must not hide another.
func (tx *Tx) sealAccess() error {
	if tx.access == nil || !tx.access.whole {
		return nil
	}
	seq := tx.access.seq
	if len(tx.said) > 0 {
		seq = tx.w.chain.next + int64(len(tx.said))
	}
	return tx.w.s.sealAccess(tx.w.ctx, tx.w.q, seq)
}

// User finds a user by id or name, disabled ones included; CodeNotFound.
func (tx *Tx) User(idOrName string) (domain.User, error) {
	u, err := tx.w.q.UserGet(tx.w.ctx, idOrName)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.User{}, domain.Errorf(domain.CodeNotFound, "user %q not found", idOrName)
	}
	return tx.w.s.user(u), err
}

// OtherAdmins counts the enabled admins besides a user.
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

// CreateUser stores a new user; a taken name or identity is CodeConflict.
func (tx *Tx) CreateUser(u domain.User) error {
	if err := tx.changesAccess(); err != nil {
		return err
	}
	return tx.w.s.insertUser(tx.w.ctx, tx.w.q, u)
}

// ChangeUser writes everything of a user but ID, Name, and CreatedAt, and records the
// change. If the change ends sessions, it also takes a user that something other than
// kairosd changed, and seals the row.
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

// Session finds a session by its hash; CodeNotFound.
func (tx *Tx) Session(hash string) (domain.Session, error) {
	r, err := tx.w.q.SessionGet(tx.w.ctx, hash)
	if err == nil && !tx.w.s.matches(r.Seal, tx.w.s.sessionSeal(&r)) {
		err = sql.ErrNoRows // it proves nothing
	}
	return session(r), err
}

// EndSession removes one session; a missing one is no error.
func (tx *Tx) EndSession(hash string) error { return tx.w.q.SessionDelete(tx.w.ctx, hash) }

// EndSessions removes all sessions of a user but the one with the hash keep; empty: none
// is kept.
func (tx *Tx) EndSessions(userID, keep string) error {
	return tx.w.q.SessionDeleteOfUser(tx.w.ctx, userID, keep)
}

// TokenByID finds a token, also one that has ended; CodeNotFound.
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

// RevokeToken sets when a token was revoked, once: a revoked token keeps its time.
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

// SecondFactor gives what SetSecondFactor stored for a user, "" for none; CodeCorrupt if
// something other than kairosd wrote it.
func (tx *Tx) SecondFactor(userID string) (string, error) {
	sealed, err := tx.w.q.SecondFactorGet(tx.w.ctx, userID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return tx.w.s.unsealText(factorName(userID), sealed)
}

// SetSecondFactor stores the second factor of a user encrypted; "" removes it.
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
