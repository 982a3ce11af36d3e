package core

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// EachRow runs a query without database/sql, whose conversions take most of the time for millions
// of rows. values holds int64, float64, string, []byte, or nil, and is reused for the next row
// after f returns. Texts may be kept.
func (d *DB) EachRow(ctx context.Context, query string, args []driver.NamedValue, f func(values []driver.Value) error) error {
	conn, err := d.Read.Conn(ctx)
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

// Ordinals converts values to the arguments of EachRow.
func Ordinals(values ...int64) []driver.NamedValue {
	out := make([]driver.NamedValue, len(values))
	for i, v := range values {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return out
}

// Fields reads the values of a row. The first value of a type other than the schema's sets err.
type Fields struct {
	Values []driver.Value
	at     int
	Err    error
}

func (f *Fields) next() driver.Value {
	v := f.Values[f.at]
	f.at++
	return v
}

func (f *Fields) wrong(v driver.Value) {
	if f.Err == nil {
		f.Err = fmt.Errorf("column %d holds a %T", f.at, v)
	}
}

// Int reads an integer.
func (f *Fields) Int() int64 {
	v := f.next()
	n, ok := v.(int64)
	if !ok {
		f.wrong(v)
	}
	return n
}

// IntOrNull reads an integer, or nil for NULL.
func (f *Fields) IntOrNull() *int64 {
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

func (f *Fields) float() float64 {
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

// Text reads a text.
func (f *Fields) Text() string {
	v := f.next()
	s, ok := v.(string)
	if !ok {
		f.wrong(v)
	}
	return s
}

// TextOrNull reads a text, or nil for NULL.
func (f *Fields) TextOrNull() *string {
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

// Blob returns bytes that the caller may keep.
func (f *Fields) Blob() []byte {
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
