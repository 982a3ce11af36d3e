package app

import (
	"context"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/internal/store"
)

// maxViewName is the maximum length of a view's name, in characters.
const maxViewName = 80

// Views contains the operations on saved views: names for queries of the run list. A view belongs
// to one person, or is shared with all users.
type Views struct{ *kernel }

type viewStore interface {
	SavedViews(ctx context.Context, owner string) ([]domain.SavedView, error)
}

// List returns the views of a principal and the shared ones.
func (v *Views) List(ctx context.Context, by domain.Actor) ([]domain.SavedView, error) {
	if err := v.allow(ctx, ListViews, by, ""); err != nil {
		return nil, err
	}
	return v.store.SavedViews(ctx, by.Name)
}

// Get returns a view of the principal, or the shared view with that name.
//
// Errors: not_found, forbidden.
func (v *Views) Get(ctx context.Context, by domain.Actor, name string, shared bool) (domain.SavedView, error) {
	if err := v.allow(ctx, GetView, by, ""); err != nil {
		return domain.SavedView{}, err
	}
	list, err := v.store.SavedViews(ctx, by.Name)
	if err != nil {
		return domain.SavedView{}, err
	}
	for _, view := range list {
		if view.Name == name && (view.Owner == "") == shared {
			return view, nil
		}
	}
	return domain.SavedView{}, domain.Errorf(domain.CodeNotFound, "view %q not found", name)
}

// ViewChange describes a view.
type ViewChange struct {
	Meta   `json:"-"`
	Name   string // one line of at most 80 characters
	Query  string // in the filter language of the run list
	Shared bool   // all users see it
}

func (c ViewChange) view() domain.SavedView {
	view := domain.SavedView{Owner: c.By.Name, Name: strings.TrimSpace(c.Name), Query: strings.TrimSpace(c.Query)}
	if c.Shared {
		view.Owner = ""
	}
	return view
}

// viewObject stores the view itself with the key, so that a repeated deletion returns it too.
var viewObject = object[domain.SavedView]{
	id: func(view domain.SavedView) string { return string(encode(view)) },
	find: func(_ context.Context, text string) (view domain.SavedView, err error) {
		return view, json.Unmarshal([]byte(text), &view)
	},
}

// Save stores a view. It replaces a view with the same name.
//
// Errors: invalid (the name, or a query that cannot be read), forbidden.
func (v *Views) Save(ctx context.Context, req ViewChange) (domain.SavedView, error) {
	view := req.view()
	switch n := utf8.RuneCountInString(view.Name); {
	case n == 0 || !utf8.ValidString(view.Name) || strings.ContainsFunc(view.Name, unicode.IsControl):
		return view, domain.Errorf(domain.CodeInvalid, "a view requires a name on one line")
	case n > maxViewName:
		return view, domain.Errorf(domain.CodeInvalid, "the name of a view has at most %d characters; this one has %d", maxViewName, n)
	case view.Query == "":
		return view, domain.Errorf(domain.CodeInvalid, "a view requires a filter").
			Suggest("write one, such as status:failed, or delete the view")
	}
	if _, problem := filter.Parse(view.Query, v.now()); problem != nil {
		return view, problem
	}
	return perform(ctx, v.kernel, SaveView, req.Meta, req, viewObject, func(tx *store.Tx) (domain.SavedView, error) {
		tx.Audit("view:"+view.Name, view.Query, nil)
		return view, tx.SaveView(view)
	})
}

// Delete deletes a view, and returns it.
//
// Errors: not_found, forbidden.
func (v *Views) Delete(ctx context.Context, req ViewChange) (domain.SavedView, error) {
	view := req.view()
	return perform(ctx, v.kernel, DeleteView, req.Meta, req, viewObject, func(tx *store.Tx) (domain.SavedView, error) {
		tx.Audit("view:"+view.Name, "", nil)
		return tx.DeleteView(view.Owner, view.Name)
	})
}
