package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/kairosd/kairosd/internal/store/statement"
)

// lazy prepares statements on first use, because most processes need few of them.
type lazy struct {
	on interface {
		PrepareContext(context.Context, string) (*sql.Stmt, error)
		QueryRowContext(context.Context, string, ...any) *sql.Row
	}
	stmts sync.Map // query → *sql.Stmt
}

func (p *lazy) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := p.stmts.Load(query); ok {
		return s.(*sql.Stmt), nil
	}
	s, err := p.on.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if first, ok := p.stmts.LoadOrStore(query, s); ok {
		return first.(*sql.Stmt), s.Close()
	}
	return s, nil
}

func (p *lazy) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

func (p *lazy) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

func (p *lazy) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	s, err := p.PrepareContext(ctx, query)
	if err != nil {
		return p.on.QueryRowContext(ctx, query, args...) // the same query, without preparing
	}
	return s.QueryRowContext(ctx, args...)
}

func (p *lazy) close() error {
	var errs []error
	for _, s := range p.stmts.Range {
		errs = append(errs, s.(*sql.Stmt).Close())
	}
	return errors.Join(errs...)
}

// writing is lazy for the writer's goroutine. Statements that only write are executed without the
// driver.
type writing struct {
	lazy
	c      *statement.Conn
	writes map[string]*statement.Stmt
}

func (p *writing) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	s := p.writes[query]
	if s == nil {
		var err error
		if s, err = p.c.Prepare(query); err != nil {
			return nil, err
		}
		p.writes[query] = s
	}
	for _, a := range args {
		switch v := a.(type) {
		case int64:
			s.Int(v)
		case *int64:
			if v == nil {
				s.Null()
			} else {
				s.Int(*v)
			}
		case float64:
			s.Float(v)
		case string:
			s.Text(v)
		case *string:
			s.TextOrNull(v)
		case []byte:
			s.BlobOrNull(v)
		case nil:
			s.Null()
		default:
			s.Done()
			return nil, fmt.Errorf("store: an argument is a %T", a)
		}
	}
	if err := s.Exec(); err != nil {
		return nil, err
	}
	return written{p.c.LastID(), p.c.Changes()}, nil
}

func (p *writing) close() error {
	for _, s := range p.writes {
		s.Close()
	}
	return p.lazy.close()
}

// written is the result of a statement.
type written struct{ id, rows int64 }

func (w written) LastInsertId() (int64, error) { return w.id, nil }

func (w written) RowsAffected() (int64, error) { return w.rows, nil }
