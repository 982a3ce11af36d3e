package app

import (
	"context"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Enrollment is a second factor that users set up for themselves.
type Enrollment struct {
	Meta   `json:"-"`
	Secret string `json:"-"` // in base32, from auth.Service.NewSecondFactor
	Code   string `json:"-"` // current code of the authenticator app
	Keep   string // the hash of the session to keep; the others end
}

// AddSecondFactor adds a second factor to the principal's account, and returns recovery codes,
// which are shown only once. All other sessions end.
//
// Errors: invalid (the secret or the code), conflict (there is one already, or the account has no
// password), too_many, already_done, forbidden.
func (a *Accounts) AddSecondFactor(ctx context.Context, req Enrollment) ([]string, error) {
	codes := shownOnce(
		func([]string) string { return req.By.Name },
		"to get new recovery codes, remove the second factor of %s and set it up again",
	)
	if _, done, err := before(ctx, a.kernel, ChangeSecondFactor, req.Meta, req, codes); err != nil || done {
		return nil, err
	}
	u, err := a.store.User(ctx, req.By.Name)
	if err != nil {
		return nil, err
	}
	factor, err := a.auth.Enroll(u, req.Secret, req.Code)
	if err != nil {
		return nil, err
	}
	out, repeated, err := account(ctx, a.kernel, ChangeSecondFactor, req.Meta, req, codes, func(tx *store.Tx) ([]string, error) {
		known, err := tx.SecondFactor(u.ID)
		if err != nil {
			return nil, err
		} else if known != "" {
			return nil, domain.Errorf(domain.CodeConflict, "a second factor is set up already").Suggest("turn it off first")
		}
		tx.Record("user.second-factor", "user:"+u.Name, "on", nil)
		if err := tx.SetSecondFactor(u.ID, factor.Stored); err != nil {
			return nil, err
		}
		return factor.Codes, tx.EndSessions(u.ID, req.Keep)
	})
	if err == nil && !repeated {
		a.auth.UserChanged(u, req.Keep)
	}
	return out, err
}

// PasswordChange is a new password that users set for themselves.
type PasswordChange struct {
	Meta `json:"-"`
	Old  string `json:"-"`
	New  string `json:"-"`
	Keep string // the hash of the session to keep; the others end
}

// ChangePassword changes the password of a principal who supplies the old one. All other sessions
// end.
//
// Errors: invalid (the new password), conflict (it was changed in the meantime), too_many,
// forbidden (the old password is wrong).
func (a *Accounts) ChangePassword(ctx context.Context, req PasswordChange) error {
	if _, done, err := before(ctx, a.kernel, ChangePassword, req.Meta, req, a.object()); err != nil || done {
		return err
	}
	u, err := a.store.User(ctx, req.By.Name)
	if err != nil {
		return err
	}
	if err := a.auth.CheckOldPassword(ctx, u, req.Old); err != nil {
		return a.permit(ctx, ChangePassword, req.By, "user:"+u.Name, err)
	}
	hash, err := a.auth.HashPassword(ctx, u.Name, req.New)
	if err != nil {
		return err
	}
	_, err = a.changeUser(ctx, ChangePassword, req.Meta, req, u.ID, req.Keep, func(fresh *domain.User) (string, error) {
		if fresh.PasswordHash != u.PasswordHash {
			return "", domain.Errorf(domain.CodeConflict, "the password was changed meanwhile")
		}
		fresh.PasswordHash = hash
		return " password", nil
	}, nil)
	return err
}

// SessionHash returns the public name of a session: the stored hash of its secret.
func SessionHash(secret string) string {
	if secret == "" {
		return ""
	}
	return auth.HashOf(secret)
}
