package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// eachRow reads a query past database/sql, whose conversions take most of the
// time when millions of rows are examined. values holds int64, float64, string,
// []byte or nil, and belongs to the next row after f returns; the texts may be
// kept.
func (s *Store) eachRow(ctx context.Context, query string, args []driver.NamedValue, f func(values []driver.Value) error) error {
	conn, err := s.read.Conn(ctx)
	if err != nil {
		return err
	}
	err = conn.Raw(func(c any) error {
		q, ok := c.(driver.QueryerContext)
		if !ok {
			return errors.New("the driver does not query with a context")
		}
		rows, err := q.QueryContext(ctx, query, args)
		if err != nil {
			return err
		}
		values := make([]driver.Value, len(rows.Columns()))
		for {
			if err := rows.Next(values); errors.Is(err, io.EOF) {
				return rows.Close()
			} else if err != nil {
				return errors.Join(err, rows.Close())
			}
			if err := f(values); err != nil {
				return errors.Join(err, rows.Close())
			}
		}
	})
	return errors.Join(err, conn.Close())
}

func ordinals(values ...int64) []driver.NamedValue {
	out := make([]driver.NamedValue, len(values))
	for i, v := range values {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return out
}

// fields takes the values of a row apart; the first that is of another kind than
// the schema says makes err.
type fields struct {
	values []driver.Value
	at     int
	err    error
}

func (f *fields) next() driver.Value {
	v := f.values[f.at]
	f.at++
	return v
}

func (f *fields) wrong(v driver.Value) {
	if f.err == nil {
		f.err = fmt.Errorf("column %d holds a %T", f.at, v)
	}
}

func (f *fields) int() int64 {
	v := f.next()
	n, ok := v.(int64)
	if !ok {
		f.wrong(v)
	}
	return n
}

func (f *fields) intOrNull() *int64 {
	v := f.next()
	if v == nil {
		return nil
	}
	n, ok := v.(int64)
	if !ok {
		f.wrong(v)
	}
	return &n
}

func (f *fields) float() float64 {
	switch v := f.next().(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	default:
		f.wrong(v)
		return 0
	}
}

func (f *fields) text() string {
	v := f.next()
	s, ok := v.(string)
	if !ok {
		f.wrong(v)
	}
	return s
}

func (f *fields) textOrNull() *string {
	v := f.next()
	if v == nil {
		return nil
	}
	s, ok := v.(string)
	if !ok {
		f.wrong(v)
	}
	return &s
}

// blob gives bytes that may be kept.
func (f *fields) blob() []byte {
	v := f.next()
	if v == nil {
		return nil
	}
	b, ok := v.([]byte)
	if !ok {
		f.wrong(v)
	}
	return b
}
