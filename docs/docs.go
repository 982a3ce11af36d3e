// Package docs embeds the documentation, so that kairosd serves the pages of its own version.
package docs

import "embed"

// Files are the pages in Markdown and the pictures they show.
//
//go:embed *.md */*.md img/*.png
var Files embed.FS
