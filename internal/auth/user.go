package auth

import (
	"context"
	"regexp"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{0,63}$`)

// reserved names would be mistaken for the daemon or for an unknown person.
var reserved = []string{"system", "engine", "token", "cli", "anonymous"}

// NewUser is a user with a password, who is not stored yet. CodeInvalid for a name, a
// password, or a role that cannot be.
func (s *Service) NewUser(ctx context.Context, name, password string, role domain.Role, now time.Time) (domain.User, error) {
	u, err := newAccount(name, role, now)
	if err != nil {
		return u, err
	}
	u.PasswordHash, err = s.HashPassword(ctx, u.Name, password)
	return u, err
}

// HashPassword is what is stored of a password; CodeInvalid for one that may not be set.
func (s *Service) HashPassword(ctx context.Context, name, password string) (string, error) {
	if err := CheckPassword(name, password); err != nil {
		return "", err
	}
	return s.hasher.hash(ctx, password)
}

// CheckOldPassword lets a user go on who gives their password: CodeForbidden for another
// one, CodeTooMany for too many of them.
func (s *Service) CheckOldPassword(ctx context.Context, u domain.User, password string) error {
	now := s.clock.now()
	// Counted apart from logins, which others can make fail.
	counter := "change:" + u.Name
	if wait, _ := s.throttle.allow(now, counter, counter); wait > 0 {
		return tooMany(wait)
	}
	match, _, err := s.hasher.check(ctx, password, u.PasswordHash)
	if err != nil {
		return err
	}
	if !match {
		return domain.Errorf(domain.CodeForbidden, "the old password is wrong")
	}
	s.throttle.succeeded(now, counter, counter)
	return nil
}

// newAccount is a user without a password.
func newAccount(name string, role domain.Role, now time.Time) (domain.User, error) {
	name = foldName(name)
	// A user is found by id or name: a name in the form of an id could be another's.
	if !nameForm.MatchString(name) || slices.Contains(reserved, name) || domain.ValidID(name) {
		return domain.User{}, domain.Errorf(domain.CodeInvalid, "%q cannot be a user's name", shown(name)).
			Suggest("use up to 64 letters, digits, dots, dashes, underscores and @, beginning with a letter or digit")
	}
	if err := CheckRole(role); err != nil {
		return domain.User{}, err
	}
	return domain.User{ID: domain.NewID(), Name: name, Role: role, CreatedAt: now}, nil
}

// ChangeUser applies an edit to a user, which says what it changed ("" for nothing). The
// last admin stays one; others is how many other admins are enabled. A user that something
// other than kairosd changed loses what lets somebody in. Sessions end.
func ChangeUser(u *domain.User, others int, edit func(*domain.User) (string, error)) (domain.UserChange, error) {
	was := *u
	if u.Unsealed { // nobody knows who chose them
		u.PasswordHash, u.Issuer, u.Subject = "", "", ""
	}
	what, err := edit(u)
	if err != nil || what == "" {
		*u = was
		return domain.UserChange{}, err
	}
	if was.Role == domain.RoleAdmin && !was.Disabled && others == 0 && (u.Role != domain.RoleAdmin || u.Disabled) {
		return domain.UserChange{}, domain.Errorf(domain.CodeConflict, "this is the only admin").
			Suggest("make somebody else an admin first")
	}
	return domain.UserChange{Reason: "changed:" + what, Detail: domain.ChangeDetail(seenOf(was), seenOf(*u)), EndsSessions: true}, nil
}

// seenOf is what the audit log may say of a user: nothing of passwords.
func seenOf(u domain.User) map[string]any {
	seen := map[string]any{"role": u.Role, "disabled": u.Disabled}
	if u.Subject != "" {
		seen["subject"] = u.Subject
	}
	return seen
}

// CheckRole refuses a role that does not exist.
func CheckRole(r domain.Role) error {
	if !slices.Contains(domain.Roles, r) {
		return domain.Errorf(domain.CodeInvalid, "there is no role %q", shown(string(r))).
			Suggest("roles are viewer, operator, author and admin")
	}
	return nil
}
