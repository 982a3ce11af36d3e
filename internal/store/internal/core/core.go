// Package core contains the code that all packages of the store share: an open database with its
// generated queries, the mapping of rows, the codec of large values, keys, and the translation of
// SQLite's errors.
package core

import (
	"database/sql"
	"io/fs"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// DB is an open database. It is safe for concurrent use once its fields are set.
type DB struct {
	Path       string           // of the database file
	Now        func() time.Time // the clock
	Migrations fs.FS            // create the schema
	Read       *sql.DB          // the readers' pool
	Q          *dbsqlc.Queries  // generated queries on the readers' pool
	Secrets    Secrets

	rowIDs sync.Map // public run id → row id
}
