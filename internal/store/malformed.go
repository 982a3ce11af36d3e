package store

import (
	"context"
	"database/sql/driver"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// malformed reports that a page of the file is damaged. Other data may be affected, so nothing more
// may be written to the file.
func malformed(err error) bool {
	code := core.Primary(err)
	return code == lib.SQLITE_CORRUPT || code == lib.SQLITE_NOTADB
}

// readConnector opens the readers' connections and reports every malformed page that any query
// finds. It wraps the driver, because hundreds of queries use the pool, and one without such a
// check would let work continue.
type readConnector struct {
	driver.Connector
	report func(error)
}

func newReadConnector(dsn string, report func(error)) (*readConnector, error) {
	c, err := sqlite.NewConnector(dsn)
	return &readConnector{c, report}, err
}

// check reports err if it is about a malformed page, and returns it.
func (c *readConnector) check(err error) error {
	if err != nil && malformed(err) {
		c.report(err)
	}
	return err
}

// Connect opens a connection.
func (c *readConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if c.check(err) != nil {
		return nil, err
	}
	return &readConn{conn.(sqliteConn), c}, nil
}

// sqliteConn is the part of a driver connection that database/sql uses.
type sqliteConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.QueryerContext
	driver.ExecerContext
	driver.ConnBeginTx
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type readConn struct {
	sqliteConn
	of *readConnector
}

// PrepareContext prepares a statement.
func (c *readConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := c.sqliteConn.PrepareContext(ctx, query)
	if c.of.check(err) != nil {
		return nil, err
	}
	return &readStmt{stmt.(sqliteStmt), c.of}, nil
}

// QueryContext runs a query.
func (c *readConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.of.rows(c.sqliteConn.QueryContext(ctx, query, args))
}

// sqliteStmt is the part of a driver statement that database/sql uses.
type sqliteStmt interface {
	driver.Stmt
	driver.StmtQueryContext
	driver.StmtExecContext
}

type readStmt struct {
	sqliteStmt
	of *readConnector
}

// QueryContext runs the statement.
func (s *readStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.of.rows(s.sqliteStmt.QueryContext(ctx, args))
}

func (c *readConnector) rows(rows driver.Rows, err error) (driver.Rows, error) {
	if c.check(err) != nil {
		return nil, err
	}
	return &readRows{rows, c}, nil
}

type readRows struct {
	driver.Rows
	of *readConnector
}

// Next reads a row.
func (r *readRows) Next(dest []driver.Value) error { return r.of.check(r.Rows.Next(dest)) }

// Close ends the query.
func (r *readRows) Close() error { return r.of.check(r.Rows.Close()) }
