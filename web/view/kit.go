// Package view holds the template of the page that the daemon shows while it starts.
package view

import (
	"context"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
)

// The template uses these parts of the kit.

// Shell is what surrounds a page.
type Shell = kit.Shell

// T is a message in the reader's language; it is named by its English text
// (package locale).
func T(ctx context.Context, text string, args ...any) string { return kit.T(ctx, text, args...) }

// Brand leads home.
func Brand() templ.Component { return kit.Brand() }

// Page is a whole page, or only its content for a dialog.
func Page(s Shell) templ.Component { return kit.Page(s) }
