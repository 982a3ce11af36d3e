// Package db holds the schema's migrations. Queries live beside them in
// db/queries and are compiled by sqlc into internal/store.
//
// A migration that removes rows names their tables in a comment, or the upgrade
// takes it for a loss of data:
//
//	-- deletes rows of: memory, run_labels
package db

import (
	"embed"
	"io/fs"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations returns the directory of goose migrations.
func Migrations() fs.FS {
	sub, err := fs.Sub(files, "migrations")
	if err != nil { // the directory is embedded
		panic(err)
	}
	return sub
}
