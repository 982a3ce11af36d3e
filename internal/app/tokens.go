package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Tokens contains the operations on API tokens.
type Tokens struct{ *kernel }

// List returns all tokens, newest first, including revoked tokens.
//
// Errors: forbidden.
func (t *Tokens) List(ctx context.Context, by domain.Actor) ([]domain.Token, error) {
	if err := t.allow(ctx, ListTokens, by, ""); err != nil {
		return nil, err
	}
	return t.store.Tokens(ctx)
}

// Get returns one token.
//
// Errors: not_found, forbidden.
func (t *Tokens) Get(ctx context.Context, by domain.Actor, id string) (domain.Token, error) {
	if err := t.allow(ctx, GetToken, by, ""); err != nil {
		return domain.Token{}, err
	}
	return t.store.TokenByID(ctx, id)
}

// NewToken describes a token to create.
type NewToken struct {
	Meta     `json:"-"`
	Name     string
	Role     domain.Role
	Scopes   []string      // empty: all permissions of the role
	Lifetime time.Duration // 0: 90 days, or the remaining lifetime of the creating token
}

// madeToken is a token with its text, which is shown only once.
type madeToken struct {
	text string
	domain.Token
}

// Create creates a token and returns its text, which is not stored. A token can only create tokens
// with at most its own permissions and lifetime.
//
// Errors: invalid, already_done, forbidden.
func (t *Tokens) Create(ctx context.Context, req NewToken) (string, domain.Token, error) {
	req.Name = strings.TrimSpace(req.Name)
	made := shownOnce(func(m madeToken) string { return m.ID }, "revoke the token %s, and create another one with another key")
	n := auth.NewToken{
		Text:     auth.NewTokenText(),
		ID:       domain.NewID(),
		Name:     req.Name,
		Role:     req.Role,
		Scopes:   req.Scopes,
		Lifetime: req.Lifetime,
	}
	at := t.now()
	out, _, err := account(ctx, t.kernel, CreateToken, req.Meta, req, made, func(tx *store.Tx) (madeToken, error) {
		token, err := n.Make(ctx, directory{tx}, req.By, at)
		if err != nil {
			return madeToken{}, err
		}
		tx.Audit(
			"token:"+token.ID,
			fmt.Sprintf("%s, role %s, until %s", token.Prefix, token.Role, token.ExpiresAt.UTC().Format(time.DateOnly)),
			nil,
		)
		return madeToken{n.Text, token}, tx.CreateToken(token)
	})
	return out.text, out.Token, t.permit(ctx, CreateToken, req.By, "token:"+req.Name, err)
}

// directory finds people and tokens within an operation.
type directory struct{ tx *store.Tx }

func (d directory) TokenByID(_ context.Context, id string) (domain.Token, error) {
	return d.tx.TokenByID(id)
}

func (d directory) User(_ context.Context, idOrName string) (domain.User, error) {
	return d.tx.User(idOrName)
}

// TokenChange identifies a token.
type TokenChange struct {
	Meta   `json:"-"`
	Token  string // id
	Reason string // kept in the audit log
}

// Revoke ends a token and all tokens that it created.
//
// Errors: not_found, forbidden.
func (t *Tokens) Revoke(ctx context.Context, req TokenChange) error {
	at := t.now()
	revoked := object[domain.Token]{id: func(domain.Token) string { return req.Token }, find: t.store.TokenByID}
	_, _, err := account(ctx, t.kernel, RevokeToken, req.Meta, req, revoked, func(tx *store.Tx) (domain.Token, error) {
		tx.Audit("token:"+req.Token, req.Reason, nil)
		return domain.Token{}, tx.RevokeToken(req.Token, at)
	})
	return err
}
