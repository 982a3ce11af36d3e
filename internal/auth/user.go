package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{0,63}$`)

// reserved names would be mistaken for the daemon or for an unknown person.
var reserved = []string{"system", "engine", "token", "cli", "anonymous"}

// User finds a user by id or name.
func (s *Service) User(ctx context.Context, idOrName string) (domain.User, error) {
	return s.store.User(ctx, idOrName)
}

// Users lists all users by name.
func (s *Service) Users(ctx context.Context) ([]domain.User, error) { return s.store.Users(ctx) }

// CreateUser makes a user. Only admins may.
func (s *Service) CreateUser(ctx context.Context, actor domain.Actor, name, password string, role domain.Role) (domain.User, error) {
	if err := requireAdmin(actor); err != nil {
		s.recordDenied(ctx, actor, "user.create", "user:"+shown(name), err.Error())
		return domain.User{}, err
	}
	u, err := s.newUser(ctx, name, password, role, s.now())
	if err != nil {
		return domain.User{}, err
	}
	if err := s.store.CreateUser(ctx, u, s.says(ctx, actor, "user.create", "user:"+u.Name, "role "+string(role))...); err != nil {
		if domain.CodeOf(err) == domain.CodeConflict {
			return domain.User{}, domain.Errorf(domain.CodeConflict, "there is a user %q already", u.Name).Suggest("choose another name")
		}
		return domain.User{}, fmt.Errorf("create user %s: %w", u.Name, err)
	}
	s.endSetup()
	return u, nil
}

func (s *Service) newUser(ctx context.Context, name, password string, role domain.Role, now time.Time) (domain.User, error) {
	u, err := newAccount(name, role, now)
	if err != nil {
		return u, err
	}
	if err := CheckPassword(u.Name, password); err != nil {
		return domain.User{}, err
	}
	u.PasswordHash, err = s.hasher.hash(ctx, password)
	return u, err
}

// newAccount is a user without a password.
func newAccount(name string, role domain.Role, now time.Time) (domain.User, error) {
	name = foldName(name)
	// A user is found by id or name: a name in the form of an id could be another's.
	if !nameForm.MatchString(name) || slices.Contains(reserved, name) || domain.ValidID(name) {
		return domain.User{}, domain.Errorf(domain.CodeInvalid, "%q cannot be a user's name", shown(name)).
			Suggest("use up to 64 letters, digits, dots, dashes, underscores and @, beginning with a letter or digit")
	}
	if err := validRole(role); err != nil {
		return domain.User{}, err
	}
	return domain.User{ID: domain.NewID(), Name: name, Role: role, CreatedAt: now}, nil
}

// UpdateUser changes what is not nil. A change of role, password or access ends
// the user's sessions at once (A19). The last admin stays one.
func (s *Service) UpdateUser(ctx context.Context, actor domain.Actor, idOrName string, role *domain.Role, password *string, disabled *bool) (domain.User, error) {
	if err := requireAdmin(actor); err != nil {
		s.recordDenied(ctx, actor, "user.update", "user:"+shown(idOrName), err.Error())
		return domain.User{}, err
	}
	if role != nil {
		if err := validRole(*role); err != nil {
			return domain.User{}, err
		}
	}
	u, err := s.changeUser(ctx, actor, idOrName, "", func(u *domain.User) (string, error) {
		what := ""
		if role != nil && *role != u.Role {
			u.Role, what = *role, what+" role "+string(*role)
		}
		if disabled != nil && *disabled != u.Disabled {
			u.Disabled, what = *disabled, what+map[bool]string{true: " disabled", false: " enabled"}[*disabled]
		}
		if password != nil {
			if err := CheckPassword(u.Name, *password); err != nil {
				return "", err
			}
			phc, err := s.hasher.hash(ctx, *password)
			if err != nil {
				return "", err
			}
			u.PasswordHash, what = phc, what+" password"
		}
		return what, nil
	})
	if err != nil || password == nil || u.Name == actor.Name {
		return u, err
	}
	// Who lost both telephone and recovery codes gets in again by a new password,
	// which only an admin or the machine can set.
	if on, _, err := s.SecondFactor(ctx, u.ID); err != nil && domain.CodeOf(err) != domain.CodeCorrupt {
		return u, err
	} else if !on && err == nil {
		return u, nil
	}
	return u, s.DisableSecondFactor(ctx, actor, u.ID)
}

// ChangePassword lets a user choose a new password by giving the old one. All
// other sessions of the user end; the one with the secret keep stays.
func (s *Service) ChangePassword(ctx context.Context, u domain.User, old, password, keep string) error {
	now := s.now()
	// Counted apart from logins, which others can make fail.
	counter := "change:" + u.Name
	if wait, _ := s.throttle.allow(now, counter, counter); wait > 0 {
		return tooMany(wait)
	}
	match, _, err := s.hasher.check(ctx, old, u.PasswordHash)
	if err != nil {
		return err
	}
	actor := ActorOf(u, "ui")
	if !match {
		s.recordDenied(ctx, actor, "user.password", "user:"+u.Name, "wrong password")
		return domain.Errorf(domain.CodeForbidden, "the old password is wrong")
	}
	s.throttle.succeeded(now, counter, counter)
	if err := CheckPassword(u.Name, password); err != nil {
		return err
	}
	phc, err := s.hasher.hash(ctx, password)
	if err != nil {
		return err
	}
	_, err = s.changeUser(ctx, actor, u.ID, keep, func(fresh *domain.User) (string, error) {
		if fresh.PasswordHash != u.PasswordHash {
			return "", domain.Errorf(domain.CodeConflict, "the password was changed meanwhile")
		}
		fresh.PasswordHash = phc
		return " password", nil
	})
	return err
}

// SaveSettings stores a person's preferences, a JSON object.
func (s *Service) SaveSettings(ctx context.Context, userID string, settings domain.RawJSON) error {
	if len(settings) > 16<<10 || !json.Valid(settings) {
		return domain.Errorf(domain.CodeInvalid, "settings must be a JSON object of at most 16 KiB")
	}
	s.change.Lock()
	defer s.change.Unlock()
	u, err := s.store.User(ctx, userID)
	if err != nil {
		return err
	}
	u.Settings = settings
	return s.store.UpdateUser(ctx, u)
}

// changeUser applies an edit that says what it changed ("" for nothing), keeps
// the last admin, and ends the user's sessions but the one with secret keep.
func (s *Service) changeUser(ctx context.Context, actor domain.Actor, idOrName, keep string, edit func(*domain.User) (string, error)) (domain.User, error) {
	s.change.Lock()
	defer s.change.Unlock()
	u, err := s.store.User(ctx, idOrName)
	if err != nil {
		return domain.User{}, err
	}
	wasAdmin, before := u.Role == domain.RoleAdmin && !u.Disabled, seenOf(u)
	if u.Unsealed { // nobody knows who chose them
		u.PasswordHash, u.Issuer, u.Subject = "", "", ""
	}
	what, err := edit(&u)
	if err != nil || what == "" {
		return u, err
	}
	if wasAdmin && (u.Role != domain.RoleAdmin || u.Disabled) {
		if err := s.otherAdmin(ctx, u.ID); err != nil {
			return domain.User{}, err
		}
	}
	kept := ""
	if keep != "" {
		kept = hashOf(keep)
	}
	said := s.says(ctx, actor, "user.update", "user:"+u.Name, "changed:"+what)
	for i := range said {
		said[i].Detail = domain.ChangeDetail(before, seenOf(u))
	}
	if err := s.store.UpdateUserEndingSessions(ctx, u, kept, said...); err != nil {
		return domain.User{}, fmt.Errorf("change user %s: %w", u.Name, err)
	}
	s.dropTickets(u.ID)
	s.throttle.forget(u.Name)
	return u, nil
}

// seenOf is what the audit log may say of a user: nothing of passwords.
func seenOf(u domain.User) map[string]any {
	seen := map[string]any{"role": u.Role, "disabled": u.Disabled}
	if u.Subject != "" {
		seen["subject"] = u.Subject
	}
	return seen
}

func (s *Service) otherAdmin(ctx context.Context, id string) error {
	users, err := s.store.Users(ctx)
	if err != nil {
		return fmt.Errorf("look for another admin: %w", err)
	}
	if slices.ContainsFunc(users, func(u domain.User) bool {
		return u.ID != id && u.Role == domain.RoleAdmin && !u.Disabled
	}) {
		return nil
	}
	return domain.Errorf(domain.CodeConflict, "this is the only admin").Suggest("make somebody else an admin first")
}

func validRole(r domain.Role) error {
	if !slices.Contains(domain.Roles, r) {
		return domain.Errorf(domain.CodeInvalid, "there is no role %q", shown(string(r))).
			Suggest("roles are viewer, operator, author and admin")
	}
	return nil
}
