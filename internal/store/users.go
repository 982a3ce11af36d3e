package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// exec runs one writing query in the writer and returns when it is durable.
func (s *Store) exec(doing string, f func(ctx context.Context, q *dbsqlc.Queries) error) error {
	return s.execAs(doing, nil, f)
}

// execAs is exec with audit records in the same transaction.
func (s *Store) execAs(doing string, records []domain.AuditRecord, f func(ctx context.Context, q *dbsqlc.Queries) error) error {
	if s.writer == nil {
		return errReadOnly()
	}
	err := s.writer.performEvenFull(func(w *writer) ([]auditRow, error) { return w.applyAs(doing, records, f) })
	return core.Translate(err, doing)
}

func (w *writer) applyAs(
	doing string,
	records []domain.AuditRecord,
	f func(ctx context.Context, q *dbsqlc.Queries) error,
) ([]auditRow, error) {
	err := f(w.ctx, w.q)
	if code := domain.CodeOf(core.Translate(err, doing)); code == domain.CodeConflict || code == domain.CodeNotFound {
		return nil, core.Translate(err, doing)
	}
	if err != nil {
		return nil, err
	}
	rows := make([]auditRow, len(records))
	for i, record := range records {
		rows[i].record = record
	}
	return rows, nil
}

func (s accounts) userParams(u domain.User) dbsqlc.UserInsertParams {
	settings := string(u.Settings)
	if settings == "" {
		settings = "{}"
	}
	row := dbsqlc.User{ID: u.ID, Name: u.Name, Role: string(u.Role), PasswordHash: u.PasswordHash, Disabled: core.Flag(u.Disabled),
		CreatedAt: core.Micros(
			u.CreatedAt,
		), LastSeenAt: core.Micros(u.LastSeenAt), Settings: settings, Issuer: u.Issuer, Subject: u.Subject}
	row.Seal = s.store.userSeal(&row)
	return dbsqlc.UserInsertParams(row)
}

// user converts a row. A user whose seal does not match is disabled.
func (s accounts) user(u dbsqlc.User) domain.User {
	unsealed := !s.store.matches(u.Seal, s.store.userSeal(&u))
	return domain.User{
		ID:           u.ID,
		Name:         u.Name,
		Role:         domain.Role(u.Role),
		PasswordHash: u.PasswordHash,
		Disabled:     u.Disabled != 0 || unsealed,
		Unsealed:     unsealed,
		CreatedAt: core.FromMicros(
			u.CreatedAt,
		),
		LastSeenAt: core.FromMicros(u.LastSeenAt),
		Settings:   domain.RawJSON(u.Settings),
		Issuer:     u.Issuer,
		Subject:    u.Subject,
	}
}

// CreateUser stores a new user. A name that is in use is CodeConflict.
func (s accounts) CreateUser(_ context.Context, u domain.User, records ...domain.AuditRecord) error {
	return s.store.execAccess(
		"create user "+u.Name,
		records,
		func(ctx context.Context, q *dbsqlc.Queries) error { return s.store.insertUser(ctx, q, u) },
	)
}

func (s accounts) insertUser(ctx context.Context, q *dbsqlc.Queries, u domain.User) error {
	if _, err := q.UserGet(ctx, u.Name); err == nil {
		return domain.Errorf(domain.CodeConflict, "user %s already exists", u.Name)
	} else if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := identityIsFree(ctx, q, u); err != nil {
		return err
	}
	return q.UserInsert(ctx, s.store.userParams(u))
}

// identityIsFree rejects an identity that is linked to another user.
func identityIsFree(ctx context.Context, q *dbsqlc.Queries, u domain.User) error {
	if u.Subject == "" {
		return nil
	}
	other, err := q.UserByIdentity(ctx, u.Issuer, u.Subject)
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && other.ID == u.ID:
		return nil
	case err != nil:
		return err
	}
	return domain.Errorf(domain.CodeConflict, "the identity provider's user %q is already linked to user %s", u.Subject, other.Name)
}

// UserByIdentity finds the user of an identity, including disabled users. It returns CodeNotFound.
func (s accounts) UserByIdentity(ctx context.Context, issuer, subject string) (domain.User, error) {
	u, err := s.store.q.UserByIdentity(ctx, issuer, subject)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.User{}, domain.Errorf(domain.CodeNotFound, "no user is %q of %s", subject, issuer)
	}
	return s.store.user(u), core.Translate(err, "read user")
}

// CreateFirstUser stores u in one transaction if there is no user, and returns CodeConflict
// otherwise.
func (s accounts) CreateFirstUser(_ context.Context, u domain.User, records ...domain.AuditRecord) error {
	return s.store.execAccess("create the first user", records, func(ctx context.Context, q *dbsqlc.Queries) error {
		n, err := q.UserCount(ctx)
		if err != nil {
			return err
		}
		if n > 0 {
			return domain.Errorf(domain.CodeConflict, "the server is already set up").
				Suggest("log in, or ask an administrator for an account")
		}
		return q.UserInsert(ctx, s.store.userParams(u))
	})
}

// User finds a user by ID or name, including disabled users. It returns CodeNotFound.
func (s accounts) User(ctx context.Context, idOrName string) (domain.User, error) {
	u, err := s.store.q.UserGet(ctx, idOrName)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.User{}, domain.Errorf(domain.CodeNotFound, "user %q not found", idOrName)
	}
	return s.store.user(u), core.Translate(err, "read user")
}

// Users lists all users by name.
func (s accounts) Users(ctx context.Context) ([]domain.User, error) {
	rows, err := s.store.q.UserList(ctx)
	out := make([]domain.User, len(rows))
	for i, u := range rows {
		out[i] = s.store.user(u)
	}
	return out, core.Translate(err, "list users")
}

// ChangeUser reads a user, changes it with edit, and writes it, in one transaction. edit may be
// called more than once, and must change only u. others is the number of other enabled
// administrators. It returns CodeNotFound, or CodeConflict for a user that another program changed,
// unless its sessions end.
func (s accounts) ChangeUser(
	_ context.Context,
	idOrName string,
	by domain.Actor,
	edit func(u *domain.User, others int) (domain.UserChange, error),
) (domain.User, error) {
	var u domain.User
	_, _, err := s.store.Do(Operation{Name: "change user", By: by, EvenFull: true}, func(tx *Tx) (string, error) {
		var err error
		if u, err = tx.User(idOrName); err != nil {
			return "", err
		}
		others, err := tx.OtherAdmins(u.ID)
		if err != nil {
			return "", err
		}
		before := u
		change, err := edit(&u, others)
		if err != nil || userEqual(before, u) {
			return "", err
		}
		return "", tx.ChangeUser(u, change)
	})
	return u, err
}

// userEqual reports whether two users are equal.
func userEqual(a, b domain.User) bool {
	a.Settings, b.Settings = nil, nil // edit does not change them
	return reflect.DeepEqual(a, b)
}

func (s accounts) updateUser(ctx context.Context, q *dbsqlc.Queries, u domain.User, whatever bool) error {
	stored, err := q.UserGet(ctx, u.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Errorf(domain.CodeNotFound, "user %q not found", u.Name)
	} else if err != nil {
		return err
	}
	if !whatever && !s.store.matches(stored.Seal, s.store.userSeal(&stored)) {
		return domain.Errorf(domain.CodeConflict, "user %s was changed by another program", stored.Name).
			Suggest("run kairosd doctor on the server")
	}
	if err := identityIsFree(ctx, q, u); err != nil {
		return err
	}
	u.Name, u.CreatedAt = stored.Name, core.FromMicros(stored.CreatedAt)
	p := s.store.userParams(u)
	_, err = q.UserUpdate(
		ctx,
		dbsqlc.UserUpdateParams{Role: p.Role, PasswordHash: p.PasswordHash, Disabled: p.Disabled, LastSeenAt: p.LastSeenAt,
			Settings: p.Settings, Issuer: p.Issuer, Subject: p.Subject, Seal: p.Seal, ID: stored.ID},
	)
	return err
}

// CountUsers counts all users.
func (s accounts) CountUsers(ctx context.Context) (int, error) {
	n, err := s.store.q.UserCount(ctx)
	return int(n), core.Translate(err, "count users")
}

func session(r dbsqlc.Session) domain.Session {
	return domain.Session{IDHash: r.IDHash, UserID: r.UserID, CreatedAt: core.FromMicros(r.CreatedAt), SeenAt: core.FromMicros(r.SeenAt),
		ExpiresAt: core.FromMicros(r.ExpiresAt), Address: r.Address, Agent: r.Agent}
}

// CreateSession stores a session.
func (s accounts) CreateSession(_ context.Context, v domain.Session, records ...domain.AuditRecord) error {
	return s.store.execAs("create session", records, func(ctx context.Context, q *dbsqlc.Queries) error {
		row := dbsqlc.Session{IDHash: v.IDHash, UserID: v.UserID, CreatedAt: core.Micros(v.CreatedAt), SeenAt: core.Micros(v.SeenAt),
			ExpiresAt: core.Micros(v.ExpiresAt), Address: v.Address, Agent: v.Agent}
		row.Seal = s.store.sessionSeal(&row)
		return q.SessionInsert(ctx, dbsqlc.SessionInsertParams(row))
	})
}

// SessionByHash finds a session. It returns CodeNotFound.
func (s accounts) SessionByHash(ctx context.Context, hash string) (domain.Session, error) {
	r, err := s.store.q.SessionGet(ctx, hash)
	if err == nil && !s.store.matches(r.Seal, s.store.sessionSeal(&r)) {
		err = sql.ErrNoRows // its seal does not match
	}
	return session(r), core.Translate(err, "read session")
}

// Sessions lists the sessions of one user, newest first.
func (s accounts) Sessions(ctx context.Context, userID string) ([]domain.Session, error) {
	rows, err := s.store.q.SessionList(ctx, userID)
	out := make([]domain.Session, len(rows))
	for i, r := range rows {
		out[i] = session(r)
	}
	return out, core.Translate(err, "list sessions")
}

// TouchSession sets SeenAt. It never moves SeenAt back.
func (s accounts) TouchSession(_ context.Context, hash string, seen time.Time) error {
	return s.store.exec("touch session", func(ctx context.Context, q *dbsqlc.Queries) error {
		return q.SessionTouch(ctx, core.Micros(seen), hash)
	})
}

// DeleteSession deletes one session. A missing session is not an error.
func (s accounts) DeleteSession(_ context.Context, hash string, records ...domain.AuditRecord) error {
	return s.store.execAs("delete session", records,
		func(ctx context.Context, q *dbsqlc.Queries) error { return q.SessionDelete(ctx, hash) })
}

// DeleteExpiredSessions deletes sessions that ended at or before now, or were last seen at or
// before idle.
func (s accounts) DeleteExpiredSessions(_ context.Context, now, idle time.Time) error {
	return s.store.exec("delete expired sessions", func(ctx context.Context, q *dbsqlc.Queries) error {
		return q.SessionDeleteExpired(ctx, core.Micros(now), core.Micros(idle))
	})
}

// token converts a row. A token whose seal does not match is marked, and grants nothing.
func (s accounts) token(r dbsqlc.Token) (domain.Token, error) {
	t := domain.Token{
		ID:         r.ID,
		Unsealed:   !s.store.matches(r.Seal, s.store.tokenSeal(&r)),
		Name:       r.Name,
		Prefix:     r.Prefix,
		SecretHash: r.SecretHash,
		Role:       domain.Role(r.Role),
		CreatedBy:  r.CreatedBy,
		CreatedAt: core.FromMicros(
			r.CreatedAt,
		),
		ExpiresAt:    core.FromMicros(r.ExpiresAt),
		LastUsedAt:   core.FromMicros(r.LastUsedAt),
		LastUsedFrom: r.LastUsedFrom,
		RevokedAt:    core.FromMicros(r.RevokedAt),
	}
	if err := json.Unmarshal([]byte(r.Scopes), &t.Scopes); err != nil {
		return t, domain.Errorf(domain.CodeCorrupt, "scopes of token %s: %w", r.Name, err)
	}
	return t, nil
}

// TokenByHash finds a token. It returns CodeNotFound.
func (s accounts) TokenByHash(ctx context.Context, hash string) (domain.Token, error) {
	r, err := s.store.q.TokenByHash(ctx, hash)
	if err != nil {
		return domain.Token{}, core.Translate(err, "read token")
	}
	return s.store.token(r)
}

// TokenByID finds a token, including revoked and expired ones. It returns CodeNotFound.
func (s accounts) TokenByID(ctx context.Context, id string) (domain.Token, error) {
	r, err := s.store.q.TokenByID(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Token{}, domain.Errorf(domain.CodeNotFound, "token %q not found", id)
	} else if err != nil {
		return domain.Token{}, core.Translate(err, "read token")
	}
	return s.store.token(r)
}

// Tokens lists all tokens, including revoked ones, newest first.
func (s accounts) Tokens(ctx context.Context) ([]domain.Token, error) {
	rows, err := s.store.q.TokenList(ctx)
	if err != nil {
		return nil, core.Translate(err, "list tokens")
	}
	out := make([]domain.Token, len(rows))
	for i, r := range rows {
		if out[i], err = s.store.token(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// TouchToken sets when and from which address a token was last used. It never moves the time back.
func (s accounts) TouchToken(_ context.Context, id string, used time.Time, from string) error {
	return s.store.exec("touch token", func(ctx context.Context, q *dbsqlc.Queries) error {
		return q.TokenTouch(ctx, core.Micros(used), from, id)
	})
}
