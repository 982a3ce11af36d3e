package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// tokenActor begins the names of actors that are tokens.
const tokenActor = "token "

// maxLineage bounds how many tokens may stand between a token and the person behind it.
const maxLineage = 16

// Directory is where people and their tokens are found.
type Directory interface {
	TokenByID(ctx context.Context, id string) (domain.Token, error)
	User(ctx context.Context, idOrName string) (domain.User, error)
}

// TokenActor is the name that a token acts under. Its id is part of it: two tokens
// of one name are two principals.
func TokenActor(t domain.Token) string { return tokenActor + t.Name + " " + t.ID }

// tokenID gives the token that an actor's name stands for.
func tokenID(actor string) (id string, ok bool) {
	if !strings.HasPrefix(actor, tokenActor) {
		return "", false
	}
	return actor[strings.LastIndexByte(actor, ' ')+1:], true
}

// atMachine reports whether an actor's name stands for a command at the machine
// itself, or for the daemon.
func atMachine(actor string) bool {
	return strings.HasPrefix(actor, "cli:") || actor == domain.System.Name
}

// lineage is a token, the tokens that it was made by, and the person at their end.
type lineage struct {
	tokens []domain.Token // the token itself first
	person *domain.User   // nil: somebody at the machine made the last of tokens
}

// lineageOf follows a token to the person behind it. A maker that cannot be found
// is CodeUnauthorized: nobody answers for such a token.
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
			if err != nil || u.Name != maker { // an id is not a name
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

// role is what the token may do now: at most what each of its makers may.
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

// RoleNow is the role in which who acted under a name may use a scope now; "" if
// they may not. Whoever is at the machine may do everything.
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

// People are the principals behind the name of an actor: of a token, the tokens it
// was made by and the person at their end, whether or not they may still act.
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
