package auth

import (
	"context"
	"crypto/rand"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// The text of a token is kro_<8>_<43>_<8>: a public name, 256 random bits, and a checksum that
// finds typing mistakes without a query.
const (
	tokenStart  = "kro_"
	tokenPrefix = len(tokenStart) + 8
	tokenBody   = tokenPrefix + 1 + 43
	tokenLength = tokenBody + 1 + 8
)

// WellFormed reports whether text has a token's form and checksum.
func WellFormed(text string) bool {
	return len(text) == tokenLength && strings.HasPrefix(text, tokenStart) &&
		text[tokenPrefix] == '_' && text[tokenBody] == '_' && text[tokenBody+1:] == checksum(text[:tokenBody])
}

// NewTokenText returns the text of a new token.
func NewTokenText() string {
	body := tokenStart + strings.ToLower(rand.Text()[:8]) + "_" + newSecret()
	return body + "_" + checksum(body)
}

func checksum(s string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(s))) }

// NewToken describes an API token to create.
type NewToken struct {
	Text     string // from NewTokenText
	ID       string
	Name     string
	Role     domain.Role
	Scopes   []string      // empty: all scopes of the role
	Lifetime time.Duration // 0: 90 days, or the remaining lifetime of the token that creates it
}

// Make validates the request and returns the token. A token can only create tokens with at most its
// own permissions and lifetime. The error is CodeInvalid or CodeForbidden.
func (n NewToken) Make(ctx context.Context, from Directory, by domain.Actor, now time.Time) (domain.Token, error) {
	if n.Name == "" || len(n.Name) > 64 || shown(n.Name) != n.Name {
		return domain.Token{}, domain.Errorf(domain.CodeInvalid, "a token's name has 1 to 64 printable characters")
	}
	if err := CheckRole(n.Role); err != nil {
		return domain.Token{}, err
	}
	scopes := slices.Compact(slices.Sorted(slices.Values(n.Scopes)))
	for _, sc := range scopes {
		if !domain.ValidScope(sc) {
			return domain.Token{}, domain.Errorf(domain.CodeInvalid, "unknown scope %q", shown(sc)).
				Suggest("scopes are %s, and mcp:PLAN", strings.Join(domain.Scopes, ", "))
		}
	}
	lifetime := n.Lifetime
	if id, ok := tokenID(by.Name); ok {
		most, err := narrower(ctx, from, by, id, n.Role, scopes, now)
		if err != nil {
			return domain.Token{}, err
		}
		if lifetime == 0 {
			lifetime = min(DefaultTokenLifetime, most)
		} else if lifetime > most {
			return domain.Token{}, domain.Errorf(domain.CodeForbidden, "a token cannot outlive the token that creates it").
				Suggest("choose at most %s", most.Truncate(time.Second))
		}
	}
	if lifetime == 0 {
		lifetime = DefaultTokenLifetime
	}
	if lifetime < time.Minute || lifetime > MaxTokenLifetime {
		return domain.Token{}, domain.Errorf(domain.CodeInvalid, "the lifetime of a token must be from one minute to 366 days")
	}
	return domain.Token{
		ID: n.ID, Name: n.Name, Prefix: n.Text[:tokenPrefix], SecretHash: hashOf(n.Text), Role: n.Role, Scopes: scopes,
		CreatedBy: by.Name, CreatedAt: now, ExpiresAt: now.Add(lifetime),
	}, nil
}

// narrower checks that a new token has at most the permissions of the token that creates it, and
// returns the longest lifetime of the new token.
func narrower(
	ctx context.Context,
	from Directory,
	by domain.Actor,
	id string,
	role domain.Role,
	scopes []string,
	now time.Time,
) (time.Duration, error) {
	parent, err := from.TokenByID(ctx, id)
	if err != nil {
		return 0, unknownMaker(err)
	}
	l, err := lineageOf(ctx, from, parent)
	if err != nil {
		return 0, err
	}
	may, err := l.role(now)
	if err != nil {
		return 0, err
	}
	switch {
	case len(l.tokens) >= maxLineage:
		return 0, domain.Errorf(domain.CodeForbidden, "too many tokens created one another").
			Suggest("create the token as a user, or with kairosd token create")
	case !may.Includes(role) || !by.Role.Includes(role):
		return 0, domain.Errorf(domain.CodeForbidden, "a token cannot create a token with a stronger role").
			Suggest("choose the role %s or a weaker one", may)
	case len(parent.Scopes) > 0 && (len(scopes) == 0 || slices.ContainsFunc(scopes,
		func(s string) bool { return !domain.ScopesInclude(parent.Scopes, s) })):
		return 0, domain.Errorf(domain.CodeForbidden, "a token with scopes creates only tokens with the same or fewer scopes").
			Suggest("choose among %s", strings.Join(parent.Scopes, ", "))
	}
	return parent.ExpiresAt.Sub(now), nil
}

// Token returns the principal of an API token. It returns CodeUnauthorized if the token is
// malformed or unknown, if it or a token that created it has expired or was revoked, or if its user
// is disabled. It never has more permissions than any of them has now.
func (s *Service) Token(ctx context.Context, text string) (domain.Actor, error) {
	if !WellFormed(text) {
		return domain.Actor{}, noToken()
	}
	t, err := s.store.TokenByHash(ctx, hashOf(text))
	if domain.CodeOf(err) == domain.CodeNotFound {
		return domain.Actor{}, noToken()
	} else if err != nil {
		return domain.Actor{}, fmt.Errorf("find token: %w", err)
	}
	t.LastUsedAt = s.store.usedAt(t)
	now := s.clock.notBefore(t.LastUsedAt)
	l, err := lineageOf(ctx, s.store, t)
	if err != nil {
		return domain.Actor{}, err
	}
	actor := domain.Actor{Name: TokenActor(t), Source: "api", Scopes: strings.Join(t.Scopes, " ")}
	if actor.Role, err = l.role(now); err != nil {
		return domain.Actor{}, err
	}
	if now.Sub(t.LastUsedAt) >= touchEvery {
		if err := s.store.TouchToken(ctx, t.ID, now, domain.RequestOf(ctx).Address); err != nil {
			return domain.Actor{}, fmt.Errorf("touch token: %w", err)
		}
	}
	return actor, nil
}

func noToken() error {
	return domain.Errorf(domain.CodeUnauthorized, "invalid API token").
		Suggest("create a token: kairosd token create")
}
