package auth

import (
	"context"
	"crypto/rand"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
)

// Scopes lists what a token can be narrowed to (RELIABILITY 4.2).
var Scopes = kairos.Scopes

// A token's text is kro_<8>_<43>_<8>: a name by which it can be recognised,
// 256 random bits, and a checksum that finds mistakes without asking the
// database.
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

func newTokenText() string {
	body := tokenStart + strings.ToLower(rand.Text()[:8]) + "_" + newSecret()
	return body + "_" + checksum(body)
}

func checksum(s string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(s))) }

// Tokens lists all tokens, newest first.
func (s *Service) Tokens(ctx context.Context) ([]kairos.Token, error) { return s.store.Tokens(ctx) }

// CreateToken makes an API token and returns its text, which cannot be seen
// again. Only admins may; lifetime 0 means 90 days.
func (s *Service) CreateToken(ctx context.Context, actor kairos.Actor, name string, role kairos.Role, scopes []string, lifetime time.Duration) (string, kairos.Token, error) {
	name = strings.TrimSpace(name)
	if err := requireAdmin(actor); err != nil {
		s.recordDenied(ctx, actor, "token.create", "token:"+shown(name), err.Error())
		return "", kairos.Token{}, err
	}
	if name == "" || len(name) > 64 || shown(name) != name {
		return "", kairos.Token{}, kairos.Errorf(kairos.CodeInvalid, "a token's name has 1 to 64 printable characters")
	}
	if err := validRole(role); err != nil {
		return "", kairos.Token{}, err
	}
	scopes = slices.Compact(slices.Sorted(slices.Values(scopes)))
	for _, sc := range scopes {
		if !slices.Contains(Scopes, sc) {
			return "", kairos.Token{}, kairos.Errorf(kairos.CodeInvalid, "there is no scope %q", shown(sc)).
				Suggest("scopes are %s", strings.Join(Scopes, ", "))
		}
	}
	if lifetime == 0 {
		lifetime = DefaultTokenLifetime
	}
	if lifetime < time.Minute || lifetime > MaxTokenLifetime {
		return "", kairos.Token{}, kairos.Errorf(kairos.CodeInvalid, "a token lives from one minute to 366 days")
	}
	now := s.now()
	text := newTokenText()
	t := kairos.Token{
		ID: kairos.NewID(), Name: name, Prefix: text[:tokenPrefix], SecretHash: hashOf(text), Role: role, Scopes: scopes,
		CreatedBy: actor.Name, CreatedAt: now, ExpiresAt: now.Add(lifetime),
	}
	said := s.says(ctx, actor, "token.create", "token:"+t.ID, fmt.Sprintf("%s, role %s, until %s", t.Prefix, role, t.ExpiresAt.UTC().Format(time.DateOnly)))
	if err := s.store.CreateToken(ctx, t, said...); err != nil {
		return "", kairos.Token{}, fmt.Errorf("create token: %w", err)
	}
	return text, t, nil
}

// RevokeToken ends a token at once. Only admins may; why goes to the audit log.
func (s *Service) RevokeToken(ctx context.Context, actor kairos.Actor, id, reason string) error {
	if err := requireAdmin(actor); err != nil {
		s.recordDenied(ctx, actor, "token.revoke", "token:"+shown(id), err.Error())
		return err
	}
	return s.store.RevokeToken(ctx, id, s.now(), s.says(ctx, actor, "token.revoke", "token:"+id, reason)...)
}

// Token finds the principal of an API token; CodeUnauthorized if it is
// malformed, unknown, expired or revoked, or if the user who made it is disabled.
// It never may more than that user may now.
func (s *Service) Token(ctx context.Context, text string) (kairos.Actor, error) {
	if !WellFormed(text) {
		return kairos.Actor{}, noToken()
	}
	t, err := s.store.TokenByHash(ctx, hashOf(text))
	if kairos.CodeOf(err) == kairos.CodeNotFound {
		return kairos.Actor{}, noToken()
	} else if err != nil {
		return kairos.Actor{}, fmt.Errorf("find token: %w", err)
	}
	t.LastUsedAt = s.store.usedAt(t)
	now := s.notBefore(t.LastUsedAt)
	if !t.RevokedAt.IsZero() || !now.Before(t.ExpiresAt) {
		return kairos.Actor{}, noToken()
	}
	actor := kairos.Actor{Name: tokenActor + t.Name, Role: t.Role, Surface: "api", Scopes: strings.Join(t.Scopes, " ")}
	// Users are never deleted, so whoever is not found ("cli:root") is no user.
	switch u, err := s.store.User(ctx, t.CreatedBy); {
	case kairos.CodeOf(err) == kairos.CodeNotFound:
	case err != nil:
		return kairos.Actor{}, fmt.Errorf("find token: %w", err)
	case u.Disabled:
		return kairos.Actor{}, noToken()
	case !u.Role.Includes(actor.Role):
		actor.Role = u.Role
	}
	if now.Sub(t.LastUsedAt) >= touchEvery {
		if err := s.store.TouchToken(ctx, t.ID, now, kairos.RequestOf(ctx).Address); err != nil {
			return kairos.Actor{}, fmt.Errorf("touch token: %w", err)
		}
	}
	return actor, nil
}

func noToken() error {
	return kairos.Errorf(kairos.CodeUnauthorized, "this API token is not valid").
		Suggest("make one with: kairosd token create")
}
