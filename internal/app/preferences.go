package app

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Preferences contains the display preferences of people. They are not in the audit log.
type Preferences struct{ *kernel }

type preferenceStore interface {
	Preference(ctx context.Context, owner, key string) (string, error)
}

// Get returns the value that a principal stored under a key, or "".
//
// Errors: forbidden.
func (p *Preferences) Get(ctx context.Context, by domain.Actor, key string) (string, error) {
	if err := p.allow(ctx, GetMe, by, ""); err != nil {
		return "", err
	}
	return p.store.Preference(ctx, by.Name, key)
}

// Preference is one preference of a person.
type Preference struct {
	Meta       `json:"-"`
	Key, Value string
}

// Set stores a preference and replaces the previous value.
//
// Errors: forbidden.
func (p *Preferences) Set(ctx context.Context, req Preference) error {
	chosen := object[Preference]{
		id:   func(c Preference) string { return c.Key },
		find: func(context.Context, string) (Preference, error) { return req, nil },
	}
	_, err := perform(ctx, p.kernel, SetPreference, req.Meta, req, chosen, func(tx *store.Tx) (Preference, error) {
		return req, tx.SetPreference(req.By.Name, req.Key, req.Value)
	})
	return err
}
