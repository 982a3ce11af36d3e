// Package db holds the schema's migrations. Queries live beside them in
// db/queries and are compiled by sqlc into internal/store.
package db

import (
	"embed"
	"io/fs"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations is the folder of goose migrations, in order.
func Migrations() fs.FS {
	sub, err := fs.Sub(files, "migrations")
	if err != nil { // the folder is embedded
		panic(err)
	}
	return sub
}
