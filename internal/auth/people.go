package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// tokenActor is the prefix of actor names of tokens.
const tokenActor = "token "

// maxLineage limits the tokens between a token and the user behind it.
const maxLineage = 16

// Directory finds users and their tokens.
type Directory interface {
	TokenByID(ctx context.Context, id string) (domain.Token, error)
	User(ctx context.Context, idOrName string) (domain.User, error)
}

// TokenActor returns the actor name of a token. It contains the ID, because two tokens with the
// same name are two principals.
func TokenActor(t domain.Token) string { return tokenActor + t.Name + " " + t.ID }

// tokenID returns the token ID of an actor name.
func tokenID(actor string) (id string, ok bool) {
	if !strings.HasPrefix(actor, tokenActor) {
		return "", false
	}
	return actor[strings.LastIndexByte(actor, ' ')+1:], true
}

// atMachine reports whether an actor name is that of a local command or of the daemon.
func atMachine(actor string) bool {
	return strings.HasPrefix(actor, "cli:") || actor == domain.System.Name
}

// lineage is a token, the tokens that created it, and the user who created the last of them.
type lineage struct {
	tokens []domain.Token // starts with the token itself
	person *domain.User   // nil: a local command created the last token
}

// lineageOf follows a token to its user. It returns CodeUnauthorized if a creator cannot be found,
// because then no one is responsible for the token.
func lineageOf(ctx context.Context, from Directory, t domain.Token) (lineage, error) {
	l := lineage{tokens: []domain.Token{t}}
	for {
		maker := l.tokens[len(l.tokens)-1].CreatedBy
		id, isToken := tokenID(maker)
		switch {
		case isToken && len(l.tokens) > maxLineage:
			return l, noToken()
		case isToken:
			parent, err := from.TokenByID(ctx, id)
			if err != nil {
				return l, unknownMaker(err)
			}
			l.tokens = append(l.tokens, parent)
		case atMachine(maker):
			return l, nil
		default:
			u, err := from.User(ctx, maker)
			if err != nil || u.Name != maker { // an ID is not a name
				return l, unknownMaker(err)
			}
			l.person = &u
			return l, nil
		}
	}
}

func unknownMaker(err error) error {
	if err == nil || domain.CodeOf(err) == domain.CodeNotFound {
		return noToken()
	}
	return fmt.Errorf("find the maker of a token: %w", err)
}

// role returns the current role of the token: the weakest of the roles of its creators. It returns
// CodeUnauthorized if one of them has ended.
func (l lineage) role(now time.Time) (domain.Role, error) {
	role := l.tokens[0].Role
	for _, t := range l.tokens {
		if t.Unsealed || !t.RevokedAt.IsZero() || !now.Before(t.ExpiresAt) {
			return "", noToken()
		}
		if !t.Role.Includes(role) {
			role = t.Role
		}
	}
	if l.person == nil {
		return role, nil
	}
	if l.person.Disabled {
		return "", noToken()
	}
	if !l.person.Role.Includes(role) {
		role = l.person.Role
	}
	return role, nil
}

// RoleNow returns the current role in which an actor may use a scope, or "" if the actor may not
// use it. Local commands may do everything.
func RoleNow(ctx context.Context, from Directory, name, scope string, now time.Time) (domain.Role, error) {
	if atMachine(name) {
		return domain.RoleAdmin, nil
	}
	id, isToken := tokenID(name)
	if !isToken {
		u, err := from.User(ctx, name)
		if domain.CodeOf(err) == domain.CodeNotFound || err == nil && u.Disabled {
			return "", nil
		}
		return u.Role, err
	}
	t, err := from.TokenByID(ctx, id)
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && len(t.Scopes) > 0 && !slices.Contains(t.Scopes, scope) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	l, err := lineageOf(ctx, from, t)
	role := domain.Role("")
	if err == nil {
		role, err = l.role(now)
	}
	if domain.CodeOf(err) == domain.CodeUnauthorized {
		return "", nil
	}
	return role, err
}

// People returns the principals behind an actor name: the token, the tokens that created it, and
// the user who created those, whether or not they are still active.
func People(ctx context.Context, from Directory, name string) ([]string, error) {
	id, isToken := tokenID(name)
	if !isToken {
		return []string{name}, nil
	}
	t, err := from.TokenByID(ctx, id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return []string{name}, nil
	} else if err != nil {
		return nil, err
	}
	l, err := lineageOf(ctx, from, t)
	if err != nil && domain.CodeOf(err) != domain.CodeUnauthorized {
		return nil, err
	}
	out := []string{name}
	for _, t := range l.tokens[1:] {
		out = append(out, TokenActor(t))
	}
	if l.person != nil {
		out = append(out, l.person.Name)
	}
	return out, nil
}
