// Package view holds the template of the page that the daemon shows during startup.
package view

import (
	"context"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
)

// The parts of kit that the template uses.

// Shell is the frame around the content of a page.
type Shell = kit.Shell

// T translates a message into the reader's language.
func T(ctx context.Context, text string, args ...any) string { return kit.T(ctx, text, args...) }

// Brand renders the logo, which links to home.
func Brand() templ.Component { return kit.Brand() }

// Page renders a whole page, or only its content for a dialog.
func Page(s Shell) templ.Component { return kit.Page(s) }
