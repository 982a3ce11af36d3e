package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
)

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{0,63}$`)

// reserved names would be mistaken for the daemon or for an unknown person.
var reserved = []string{"system", "engine", "token", "cli", "anonymous"}

// User finds a user by id or name.
func (s *Service) User(ctx context.Context, idOrName string) (kairos.User, error) {
	return s.store.User(ctx, idOrName)
}

// Users lists all users by name.
func (s *Service) Users(ctx context.Context) ([]kairos.User, error) { return s.store.Users(ctx) }

// CreateUser makes a user. Only admins may.
func (s *Service) CreateUser(ctx context.Context, actor kairos.Actor, name, password string, role kairos.Role) (kairos.User, error) {
	if err := requireAdmin(actor); err != nil {
		s.recordDenied(ctx, actor, "user.create", "user:"+shown(name), err.Error())
		return kairos.User{}, err
	}
	u, err := s.newUser(ctx, name, password, role, s.now())
	if err != nil {
		return kairos.User{}, err
	}
	if err := s.store.CreateUser(ctx, u, s.says(ctx, actor, "user.create", "user:"+u.Name, "role "+string(role))...); err != nil {
		if kairos.CodeOf(err) == kairos.CodeConflict {
			return kairos.User{}, kairos.Errorf(kairos.CodeConflict, "there is a user %q already", u.Name).Suggest("choose another name")
		}
		return kairos.User{}, fmt.Errorf("create user %s: %w", u.Name, err)
	}
	return u, nil
}

func (s *Service) newUser(ctx context.Context, name, password string, role kairos.Role, now time.Time) (kairos.User, error) {
	u, err := newAccount(name, role, now)
	if err != nil {
		return u, err
	}
	if err := CheckPassword(u.Name, password); err != nil {
		return kairos.User{}, err
	}
	u.PasswordHash, err = s.hasher.hash(ctx, password)
	return u, err
}

// newAccount is a user without a password.
func newAccount(name string, role kairos.Role, now time.Time) (kairos.User, error) {
	name = foldName(name)
	if !nameForm.MatchString(name) || slices.Contains(reserved, name) {
		return kairos.User{}, kairos.Errorf(kairos.CodeInvalid, "%q cannot be a user's name", shown(name)).
			Suggest("use up to 64 letters, digits, dots, dashes, underscores and @, beginning with a letter or digit")
	}
	if err := validRole(role); err != nil {
		return kairos.User{}, err
	}
	return kairos.User{ID: kairos.NewID(), Name: name, Role: role, CreatedAt: now}, nil
}

// UpdateUser changes what is not nil. A change of role, password or access ends
// the user's sessions at once (A19). The last admin stays one.
func (s *Service) UpdateUser(ctx context.Context, actor kairos.Actor, idOrName string, role *kairos.Role, password *string, disabled *bool) (kairos.User, error) {
	if err := requireAdmin(actor); err != nil {
		s.recordDenied(ctx, actor, "user.update", "user:"+shown(idOrName), err.Error())
		return kairos.User{}, err
	}
	if role != nil {
		if err := validRole(*role); err != nil {
			return kairos.User{}, err
		}
	}
	u, err := s.changeUser(ctx, actor, idOrName, "", func(u *kairos.User) (string, error) {
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
	if on, _, err := s.SecondFactor(ctx, u.ID); err != nil && kairos.CodeOf(err) != kairos.CodeCorrupt {
		return u, err
	} else if !on && err == nil {
		return u, nil
	}
	return u, s.DisableSecondFactor(ctx, actor, u.ID)
}

// ChangePassword lets a user choose a new password by giving the old one. All
// other sessions of the user end; the one with the secret keep stays.
func (s *Service) ChangePassword(ctx context.Context, u kairos.User, old, password, keep string) error {
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
		return kairos.Errorf(kairos.CodeForbidden, "the old password is wrong")
	}
	s.throttle.succeeded(now, counter, counter)
	if err := CheckPassword(u.Name, password); err != nil {
		return err
	}
	phc, err := s.hasher.hash(ctx, password)
	if err != nil {
		return err
	}
	_, err = s.changeUser(ctx, actor, u.ID, keep, func(fresh *kairos.User) (string, error) {
		if fresh.PasswordHash != u.PasswordHash {
			return "", kairos.Errorf(kairos.CodeConflict, "the password was changed meanwhile")
		}
		fresh.PasswordHash = phc
		return " password", nil
	})
	return err
}

// SaveSettings stores a person's preferences, a JSON object.
func (s *Service) SaveSettings(ctx context.Context, userID string, settings kairos.RawJSON) error {
	if len(settings) > 16<<10 || !json.Valid(settings) {
		return kairos.Errorf(kairos.CodeInvalid, "settings must be a JSON object of at most 16 KiB")
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
func (s *Service) changeUser(ctx context.Context, actor kairos.Actor, idOrName, keep string, edit func(*kairos.User) (string, error)) (kairos.User, error) {
	s.change.Lock()
	defer s.change.Unlock()
	u, err := s.store.User(ctx, idOrName)
	if err != nil {
		return kairos.User{}, err
	}
	wasAdmin, before := u.Role == kairos.RoleAdmin && !u.Disabled, seenOf(u)
	what, err := edit(&u)
	if err != nil || what == "" {
		return u, err
	}
	if wasAdmin && (u.Role != kairos.RoleAdmin || u.Disabled) {
		if err := s.otherAdmin(ctx, u.ID); err != nil {
			return kairos.User{}, err
		}
	}
	kept := ""
	if keep != "" {
		kept = hashOf(keep)
	}
	said := s.says(ctx, actor, "user.update", "user:"+u.Name, "changed:"+what)
	for i := range said {
		said[i].Detail = kairos.ChangeDetail(before, seenOf(u))
	}
	if err := s.store.UpdateUserEndingSessions(ctx, u, kept, said...); err != nil {
		return kairos.User{}, fmt.Errorf("change user %s: %w", u.Name, err)
	}
	s.throttle.forget(u.Name)
	return u, nil
}

// seenOf is what the audit log may say of a user: nothing of passwords.
func seenOf(u kairos.User) map[string]any {
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
	if slices.ContainsFunc(users, func(u kairos.User) bool {
		return u.ID != id && u.Role == kairos.RoleAdmin && !u.Disabled
	}) {
		return nil
	}
	return kairos.Errorf(kairos.CodeConflict, "this is the only admin").Suggest("make somebody else an admin first")
}

func validRole(r kairos.Role) error {
	if !slices.Contains(kairos.Roles, r) {
		return kairos.Errorf(kairos.CodeInvalid, "there is no role %q", shown(string(r))).
			Suggest("roles are viewer, operator, author and admin")
	}
	return nil
}
