package auth

import (
	"context"
	"regexp"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{0,63}$`)

// reserved names could be confused with the daemon or with an unknown user.
var reserved = []string{"system", "engine", "token", "cli", "anonymous"}

// NewUser returns a user with a password, without storing it. It returns CodeInvalid for an invalid
// name, password, or role.
func (s *Service) NewUser(ctx context.Context, name, password string, role domain.Role, now time.Time) (domain.User, error) {
	u, err := newAccount(name, role, now)
	if err != nil {
		return u, err
	}
	u.PasswordHash, err = s.HashPassword(ctx, u.Name, password)
	return u, err
}

// HashPassword returns the stored form of a password. It returns CodeInvalid for a password that
// may not be set.
func (s *Service) HashPassword(ctx context.Context, name, password string) (string, error) {
	if err := CheckPassword(name, password); err != nil {
		return "", err
	}
	return s.hasher.hash(ctx, password)
}

// CheckOldPassword verifies the current password of a user. It returns CodeForbidden for a wrong
// password and CodeTooMany for too many wrong ones.
func (s *Service) CheckOldPassword(ctx context.Context, u domain.User, password string) error {
	now := s.clock.now()
	// Attempts are counted separately from logins, because others can make logins fail.
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

// newAccount returns a user without a password.
func newAccount(name string, role domain.Role, now time.Time) (domain.User, error) {
	name = foldName(name)
	// A user is found by ID or name, so a name must not look like an ID of another user.
	if !nameForm.MatchString(name) || slices.Contains(reserved, name) || domain.ValidID(name) {
		return domain.User{}, domain.Errorf(domain.CodeInvalid, "invalid user name %q", shown(name)).
			Suggest("use up to 64 letters, digits, dots, dashes, underscores, and @, and start with a letter or digit")
	}
	if err := CheckRole(role); err != nil {
		return domain.User{}, err
	}
	return domain.User{ID: domain.NewID(), Name: name, Role: role, CreatedAt: now}, nil
}

// ChangeUser applies edit to a user. edit returns a description of the change, or "" if there is
// none. It returns an error if the change would leave no enabled administrator; others is the
// number of other enabled administrators. If another program than kairosd changed the user, it
// removes the credentials and ends the sessions.
func ChangeUser(u *domain.User, others int, edit func(*domain.User) (string, error)) (domain.UserChange, error) {
	was := *u
	if u.Unsealed { // it is not known who set the credentials
		u.PasswordHash, u.Issuer, u.Subject = "", "", ""
	}
	what, err := edit(u)
	if err != nil || what == "" {
		*u = was
		return domain.UserChange{}, err
	}
	if was.Role == domain.RoleAdmin && !was.Disabled && others == 0 && (u.Role != domain.RoleAdmin || u.Disabled) {
		return domain.UserChange{}, domain.Errorf(domain.CodeConflict, "this user is the only administrator").
			Suggest("make another user an administrator first")
	}
	return domain.UserChange{Reason: "changed:" + what, Detail: domain.ChangeDetail(seenOf(was), seenOf(*u)), EndsSessions: true}, nil
}

// seenOf returns the fields of a user that the audit log may contain, without passwords.
func seenOf(u domain.User) map[string]any {
	seen := map[string]any{"role": u.Role, "disabled": u.Disabled}
	if u.Subject != "" {
		seen["subject"] = u.Subject
	}
	return seen
}

// CheckRole rejects a role that does not exist.
func CheckRole(r domain.Role) error {
	if !slices.Contains(domain.Roles, r) {
		return domain.Errorf(domain.CodeInvalid, "unknown role %q", shown(string(r))).
			Suggest("roles: viewer, operator, author, admin")
	}
	return nil
}
