package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// exec runs one writing query in the writer and returns when it is durable.
func (s *Store) exec(doing string, f func(ctx context.Context, q *dbsqlc.Queries) error) error {
	return s.execAs(doing, nil, f)
}

// execAs is exec for what the audit log records: in the same transaction (G12).
func (s *Store) execAs(doing string, said []kairos.AuditRecord, f func(ctx context.Context, q *dbsqlc.Queries) error) error {
	if s.writer == nil {
		return errReadOnly()
	}
	err := s.writer.performEvenFull(func(w *writer) ([]auditRow, error) {
		err := f(w.ctx, w.q)
		if code := kairos.CodeOf(translate(err, doing)); code == kairos.CodeConflict || code == kairos.CodeNotFound {
			return nil, translate(err, doing)
		}
		if err != nil {
			return nil, err
		}
		rows := make([]auditRow, len(said))
		for i, record := range said {
			rows[i].record = record
		}
		return rows, nil
	})
	return translate(err, doing)
}

func userParams(u kairos.User) dbsqlc.UserInsertParams {
	settings := string(u.Settings)
	if settings == "" {
		settings = "{}"
	}
	return dbsqlc.UserInsertParams{ID: u.ID, Name: u.Name, Role: string(u.Role), PasswordHash: u.PasswordHash, Disabled: flag(u.Disabled),
		CreatedAt: micros(u.CreatedAt), LastSeenAt: micros(u.LastSeenAt), Settings: settings, Issuer: u.Issuer, Subject: u.Subject}
}

func user(u dbsqlc.User) kairos.User {
	return kairos.User{ID: u.ID, Name: u.Name, Role: kairos.Role(u.Role), PasswordHash: u.PasswordHash, Disabled: u.Disabled != 0,
		CreatedAt: fromMicros(u.CreatedAt), LastSeenAt: fromMicros(u.LastSeenAt), Settings: kairos.RawJSON(u.Settings), Issuer: u.Issuer, Subject: u.Subject}
}

// CreateUser stores a new user; a taken name is CodeConflict.
func (s *Store) CreateUser(_ context.Context, u kairos.User, said ...kairos.AuditRecord) error {
	return s.execAs("create user "+u.Name, said, func(ctx context.Context, q *dbsqlc.Queries) error { return insertUser(ctx, q, u) })
}

func insertUser(ctx context.Context, q *dbsqlc.Queries, u kairos.User) error {
	if _, err := q.UserGet(ctx, u.Name); err == nil {
		return kairos.Errorf(kairos.CodeConflict, "there is a user %s already", u.Name)
	} else if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := identityIsFree(ctx, q, u); err != nil {
		return err
	}
	return q.UserInsert(ctx, userParams(u))
}

// identityIsFree refuses that two users are the same person at a provider.
func identityIsFree(ctx context.Context, q *dbsqlc.Queries, u kairos.User) error {
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
	return kairos.Errorf(kairos.CodeConflict, "the identity provider's user %q is %s here already", u.Subject, other.Name)
}

// UserByIdentity finds whom an identity provider means, disabled ones included;
// CodeNotFound.
func (s *Store) UserByIdentity(ctx context.Context, issuer, subject string) (kairos.User, error) {
	u, err := s.q.UserByIdentity(ctx, issuer, subject)
	if errors.Is(err, sql.ErrNoRows) {
		return kairos.User{}, kairos.Errorf(kairos.CodeNotFound, "no user is %q of %s", subject, issuer)
	}
	return user(u), translate(err, "read user")
}

// CreateFirstUser stores u only if there is no user at all, in one transaction;
// else CodeConflict.
func (s *Store) CreateFirstUser(_ context.Context, u kairos.User, said ...kairos.AuditRecord) error {
	return s.execAs("create the first user", said, func(ctx context.Context, q *dbsqlc.Queries) error {
		n, err := q.UserCount(ctx)
		if err != nil {
			return err
		}
		if n > 0 {
			return kairos.Errorf(kairos.CodeConflict, "this installation is set up already").Suggest("log in, or ask an administrator for an account")
		}
		return q.UserInsert(ctx, userParams(u))
	})
}

// User finds a user by id or name, disabled ones included; CodeNotFound.
func (s *Store) User(ctx context.Context, idOrName string) (kairos.User, error) {
	u, err := s.q.UserGet(ctx, idOrName)
	if errors.Is(err, sql.ErrNoRows) {
		return kairos.User{}, kairos.Errorf(kairos.CodeNotFound, "no user %q", idOrName)
	}
	return user(u), translate(err, "read user")
}

// Users lists all users by name.
func (s *Store) Users(ctx context.Context) ([]kairos.User, error) {
	rows, err := s.q.UserList(ctx)
	out := make([]kairos.User, len(rows))
	for i, u := range rows {
		out[i] = user(u)
	}
	return out, translate(err, "list users")
}

// UpdateUser replaces everything but ID, Name and CreatedAt.
func (s *Store) UpdateUser(_ context.Context, u kairos.User, said ...kairos.AuditRecord) error {
	return s.execAs("update user "+u.Name, said, func(ctx context.Context, q *dbsqlc.Queries) error { return updateUser(ctx, q, u) })
}

// UpdateUserEndingSessions is UpdateUser, and DeleteSessions with it: who may do
// less from now on does so at once.
func (s *Store) UpdateUserEndingSessions(_ context.Context, u kairos.User, keep string, said ...kairos.AuditRecord) error {
	return s.execAs("update user "+u.Name, said, func(ctx context.Context, q *dbsqlc.Queries) error {
		if err := updateUser(ctx, q, u); err != nil {
			return err
		}
		return q.SessionDeleteOfUser(ctx, u.ID, keep)
	})
}

func updateUser(ctx context.Context, q *dbsqlc.Queries, u kairos.User) error {
	if err := identityIsFree(ctx, q, u); err != nil {
		return err
	}
	p := userParams(u)
	n, err := q.UserUpdate(ctx, dbsqlc.UserUpdateParams{Role: p.Role, PasswordHash: p.PasswordHash, Disabled: p.Disabled, LastSeenAt: p.LastSeenAt,
		Settings: p.Settings, Issuer: p.Issuer, Subject: p.Subject, ID: p.ID})
	if err == nil && n == 0 {
		return kairos.Errorf(kairos.CodeNotFound, "no user %q", u.Name)
	}
	return err
}

// CountUsers counts all users.
func (s *Store) CountUsers(ctx context.Context) (int, error) {
	n, err := s.q.UserCount(ctx)
	return int(n), translate(err, "count users")
}

func session(r dbsqlc.Session) kairos.Session {
	return kairos.Session{IDHash: r.IDHash, UserID: r.UserID, CreatedAt: fromMicros(r.CreatedAt), SeenAt: fromMicros(r.SeenAt),
		ExpiresAt: fromMicros(r.ExpiresAt), Address: r.Address, Agent: r.Agent}
}

// CreateSession stores a session.
func (s *Store) CreateSession(_ context.Context, v kairos.Session, said ...kairos.AuditRecord) error {
	return s.execAs("create session", said, func(ctx context.Context, q *dbsqlc.Queries) error {
		return q.SessionInsert(ctx, dbsqlc.SessionInsertParams{IDHash: v.IDHash, UserID: v.UserID, CreatedAt: micros(v.CreatedAt), SeenAt: micros(v.SeenAt),
			ExpiresAt: micros(v.ExpiresAt), Address: v.Address, Agent: v.Agent})
	})
}

// SessionByHash finds a session; CodeNotFound.
func (s *Store) SessionByHash(ctx context.Context, hash string) (kairos.Session, error) {
	r, err := s.q.SessionGet(ctx, hash)
	return session(r), translate(err, "read session")
}

// Sessions lists the sessions of one user, newest first.
func (s *Store) Sessions(ctx context.Context, userID string) ([]kairos.Session, error) {
	rows, err := s.q.SessionList(ctx, userID)
	out := make([]kairos.Session, len(rows))
	for i, r := range rows {
		out[i] = session(r)
	}
	return out, translate(err, "list sessions")
}

// TouchSession sets SeenAt; it never moves it back.
func (s *Store) TouchSession(_ context.Context, hash string, seen time.Time) error {
	return s.exec("touch session", func(ctx context.Context, q *dbsqlc.Queries) error { return q.SessionTouch(ctx, micros(seen), hash) })
}

// DeleteSession removes one session; a missing one is no error.
func (s *Store) DeleteSession(_ context.Context, hash string, said ...kairos.AuditRecord) error {
	return s.execAs("delete session", said, func(ctx context.Context, q *dbsqlc.Queries) error { return q.SessionDelete(ctx, hash) })
}

// DeleteSessions removes all sessions of a user but the one with the hash keep.
func (s *Store) DeleteSessions(_ context.Context, userID, keep string, said ...kairos.AuditRecord) error {
	return s.execAs("delete sessions", said, func(ctx context.Context, q *dbsqlc.Queries) error { return q.SessionDeleteOfUser(ctx, userID, keep) })
}

// DeleteExpiredSessions removes sessions that ended at or before now, or were
// last seen at or before idle.
func (s *Store) DeleteExpiredSessions(_ context.Context, now, idle time.Time) error {
	return s.exec("delete expired sessions", func(ctx context.Context, q *dbsqlc.Queries) error {
		return q.SessionDeleteExpired(ctx, micros(now), micros(idle))
	})
}

func token(r dbsqlc.Token) (kairos.Token, error) {
	t := kairos.Token{ID: r.ID, Name: r.Name, Prefix: r.Prefix, SecretHash: r.SecretHash, Role: kairos.Role(r.Role), CreatedBy: r.CreatedBy,
		CreatedAt: fromMicros(r.CreatedAt), ExpiresAt: fromMicros(r.ExpiresAt), LastUsedAt: fromMicros(r.LastUsedAt), LastUsedFrom: r.LastUsedFrom, RevokedAt: fromMicros(r.RevokedAt)}
	if err := json.Unmarshal([]byte(r.Scopes), &t.Scopes); err != nil {
		return t, kairos.Errorf(kairos.CodeCorrupt, "scopes of token %s: %w", r.Name, err)
	}
	return t, nil
}

// CreateToken stores a token.
func (s *Store) CreateToken(_ context.Context, t kairos.Token, said ...kairos.AuditRecord) error {
	scopes := t.Scopes
	if scopes == nil {
		scopes = []string{}
	}
	return s.execAs("create token "+t.Name, said, func(ctx context.Context, q *dbsqlc.Queries) error {
		return q.TokenInsert(ctx, dbsqlc.TokenInsertParams{ID: t.ID, Name: t.Name, Prefix: t.Prefix, SecretHash: t.SecretHash, Role: string(t.Role),
			Scopes: encodeJSON(scopes), CreatedBy: t.CreatedBy, CreatedAt: micros(t.CreatedAt), ExpiresAt: micros(t.ExpiresAt)})
	})
}

// TokenByHash finds a token; CodeNotFound.
func (s *Store) TokenByHash(ctx context.Context, hash string) (kairos.Token, error) {
	r, err := s.q.TokenByHash(ctx, hash)
	if err != nil {
		return kairos.Token{}, translate(err, "read token")
	}
	return token(r)
}

// Tokens lists all tokens, newest first, revoked ones included.
func (s *Store) Tokens(ctx context.Context) ([]kairos.Token, error) {
	rows, err := s.q.TokenList(ctx)
	if err != nil {
		return nil, translate(err, "list tokens")
	}
	out := make([]kairos.Token, len(rows))
	for i, r := range rows {
		if out[i], err = token(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// RevokeToken sets RevokedAt, once: a revoked token keeps its time.
func (s *Store) RevokeToken(_ context.Context, id string, at time.Time, said ...kairos.AuditRecord) error {
	return s.execAs("revoke token", said, func(ctx context.Context, q *dbsqlc.Queries) error {
		n, err := q.TokenRevoke(ctx, micros(at), id)
		if err == nil && n == 0 {
			return kairos.Errorf(kairos.CodeNotFound, "no token %q", id)
		}
		return err
	})
}

// TouchToken sets when and from which address a token was last used; it never
// moves the time back.
func (s *Store) TouchToken(_ context.Context, id string, used time.Time, from string) error {
	return s.exec("touch token", func(ctx context.Context, q *dbsqlc.Queries) error {
		return q.TokenTouch(ctx, micros(used), from, id)
	})
}

// ReserveResponse claims a principal, route and key for one request; see
// api.IdempotencyStore. A claim that an earlier process left behind, or nobody
// answered for long, keeps its
// CreatedAt when the same request claims it again: what the request derives
// from it stays the same, so that what it began is found and not begun twice.
func (s *Store) ReserveResponse(_ context.Context, r kairos.StoredResponse, staleAfter time.Duration) (stored kairos.StoredResponse, claimed bool, err error) {
	stale := micros(r.CreatedAt.Add(-staleAfter))
	insert := dbsqlc.ResponseInsertParams{Principal: r.Principal, Route: r.Route, Key: r.Key, BodyHash: r.BodyHash, CreatedAt: micros(r.CreatedAt)}
	var row dbsqlc.Response
	err = s.exec("reserve response", func(ctx context.Context, q *dbsqlc.Queries) error {
		n, err := q.ResponseInsert(ctx, insert)
		if claimed = n == 1; err != nil || claimed {
			return err
		}
		if row, err = q.ResponseGet(ctx, r.Principal, r.Route, r.Key); err != nil || row.Status != 0 {
			return err
		}
		// Nobody answers any more what an earlier process began.
		if _, alive := s.claims.Load(claimOf(r)); alive && row.CreatedAt >= stale {
			return nil
		}
		claimed = true
		if row.BodyHash == r.BodyHash {
			r.CreatedAt = fromMicros(row.CreatedAt)
			return nil
		}
		if err := q.ResponseDeleteStale(ctx, dbsqlc.ResponseDeleteStaleParams{Principal: r.Principal, Route: r.Route, Key: r.Key, StaleBefore: stale}); err != nil {
			return err
		}
		_, err = q.ResponseInsert(ctx, insert)
		return err
	})
	if err == nil && claimed {
		s.claims.Store(claimOf(r), nil)
	}
	if err != nil || claimed {
		return r, claimed && err == nil, err
	}
	stored = kairos.StoredResponse{Principal: row.Principal, Route: row.Route, Key: row.Key, BodyHash: row.BodyHash, Status: int(row.Status),
		Body: row.Body, CreatedAt: fromMicros(row.CreatedAt)}
	if err := json.Unmarshal([]byte(row.Header), &stored.Header); err != nil {
		return stored, false, kairos.Errorf(kairos.CodeCorrupt, "stored response: %w", err)
	}
	return stored, false, nil
}

// claimOf names a claim among those that this process holds.
func claimOf(r kairos.StoredResponse) [3]string { return [3]string{r.Principal, r.Route, r.Key} }

// CompleteResponse stores the answer of a claimed request.
func (s *Store) CompleteResponse(_ context.Context, r kairos.StoredResponse) error {
	defer s.claims.Delete(claimOf(r))
	return s.exec("store response", func(ctx context.Context, q *dbsqlc.Queries) error {
		body := r.Body
		if body == nil {
			body = []byte{}
		}
		return q.ResponseComplete(ctx, dbsqlc.ResponseCompleteParams{Status: int64(r.Status), Header: encodeJSON(r.Header), Body: body,
			Principal: r.Principal, Route: r.Route, Key: r.Key})
	})
}

// ReleaseResponse gives a claim up, so that the request may be tried again.
func (s *Store) ReleaseResponse(_ context.Context, principal, route, key string) error {
	defer s.claims.Delete([3]string{principal, route, key})
	return s.exec("release response", func(ctx context.Context, q *dbsqlc.Queries) error {
		return q.ResponseRelease(ctx, principal, route, key)
	})
}

// DeleteResponses removes records created before a time.
func (s *Store) DeleteResponses(_ context.Context, before time.Time) error {
	return s.exec("delete stored responses", func(ctx context.Context, q *dbsqlc.Queries) error { return q.ResponseDeleteBefore(ctx, micros(before)) })
}
