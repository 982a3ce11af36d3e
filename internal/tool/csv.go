package tool

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

const (
	maxColumns   = 1000
	maxCSVRows   = 1_000_000
	defaultLimit = 1000
)

func newCSV(f *files) llm.Tool {
	return &function{
		spec: llm.ToolSpec{
			Name: "csv", Private: true,
			Description: "Reads a table from CSV text or a file, filters and groups it, and computes sum, avg, min, max, " +
				"count and distinct exactly. " +
				"Gives {columns, rows, count}: rows are objects, count is their number before the limit.",
			Effect: walk.EffectRead,
			EffectOf: func(args any) walk.Effect {
				if m, ok := args.(map[string]any); ok && m["file"] == nil && m["text"] != nil {
					return walk.EffectPure
				}
				return walk.EffectRead
			},
			Schema: object(map[string]any{
				"text":      property("string", "the table as text"),
				"file":      property("string", "a file inside the configured roots, instead of text", "minLength", 1),
				"delimiter": property("string", "one character, or tab; default: the first of , ; tab | that the first line has most of"),
				"header":    property("boolean", "whether the first row names the columns; default true, else they are c1, c2, …"),
				"decimal": property(
					"string",
					"decimal separator of numbers; the other one can group digits; default .",
					"enum",
					[]any{".", ","},
				),
				"types": property("object", "number or text by column; otherwise a cell that is a plain number is one",
					"additionalProperties", map[string]any{"enum": []any{"number", "text"}}),
				"filter": map[string]any{
					"description": "rows to keep: {column: value or list of values}, or a list of {column, op, value}; all must hold",
					"anyOf": []any{
						map[string]any{"type": "object"},
						map[string]any{"type": "array", "items": object(map[string]any{
							"column": property("string", "the column"),
							"op": property(
								"string",
								"default =",
								"enum",
								[]any{"=", "==", "!=", "<", "<=", ">", ">=", "contains", "in", "empty", "not_empty"},
							),
							"value": map[string]any{"description": "what the cell is compared with"},
						}, "column")},
					},
				},
				"group_by": property("array", "columns whose equal values make a group", "items", map[string]any{"type": "string"}),
				"aggregate": property(
					"object",
					"result columns, each as sum(column), avg, min, max, count, distinct, or count without a column",
					"additionalProperties",
					map[string]any{"type": "string"},
				),
				"columns": property("array", "columns to give, in this order", "items", map[string]any{"type": "string"}),
				"sort":    property("array", "columns to sort by; -column for descending", "items", map[string]any{"type": "string"}),
				"limit":   property("integer", "rows to give; default 1000", "minimum", 0, "maximum", 100_000),
				"round":   property("integer", "decimal places of aggregates", "minimum", 0, "maximum", 100),
			}),
		},
		call: func(ctx context.Context, args arguments, _ llm.ToolCall) (any, error) {
			if args.has("text") == args.has("file") {
				return nil, invalid("csv requires exactly one of text and file")
			}
			content := []byte(args.text("text"))
			if args.has("file") {
				var err error
				if content, _, err = f.read(args.text("file")); err != nil {
					return nil, err
				}
			}
			t, err := readTable(ctx, content, args)
			if err != nil {
				return nil, err
			}
			return t.query(args)
		},
	}
}

// table is a parsed CSV file: cells as text, and rows with the number of their first line.
type table struct {
	columns []string
	index   map[string]int
	types   map[string]string
	decimal string
	rows    []row
}

type row struct {
	cells []string
	line  int
}

// readTable parses CSV (RFC 4180) and the variants of spreadsheets: a byte order mark, other
// delimiters, and short last rows.
func readTable(ctx context.Context, content []byte, args arguments) (*table, error) {
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(content) {
		return nil, suggest(invalid("the table is not UTF-8"), "save it as CSV UTF-8")
	}
	r := csv.NewReader(bytes.NewReader(content))
	r.FieldsPerRecord = -1
	r.ReuseRecord = true
	comma, err := delimiter(args.text("delimiter"), content)
	if err != nil {
		return nil, err
	}
	r.Comma = comma
	t := &table{index: map[string]int{}, types: map[string]string{}, decimal: args.text("decimal")}
	header := !args.has("header") || args.flag("header")
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if p, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, invalid("line %d, column %d: %s", p.Line, p.Column, p.Err)
		}
		if err != nil {
			return nil, invalid("%s", err)
		}
		line, _ := r.FieldPos(0)
		switch {
		case len(record) > maxColumns:
			return nil, invalid("line %d has %d columns; at most %d are read", line, len(record), maxColumns)
		case len(t.rows) >= maxCSVRows:
			return nil, invalid("more than %d rows", maxCSVRows)
		case len(t.columns) == 0:
			if err := t.name(record, header); err != nil {
				return nil, err
			}
			if header {
				continue
			}
		}
		if len(record) > len(t.columns) {
			return nil, invalid("line %d has %d cells, but there are %d columns", line, len(record), len(t.columns))
		}
		cells := make([]string, len(t.columns))
		copy(cells, record)
		t.rows = append(t.rows, row{cells, line})
	}
	if len(t.columns) == 0 {
		return nil, invalid("the table is empty")
	}
	for column, kind := range args.object("types") {
		if _, err := t.column(column); err != nil {
			return nil, err
		}
		t.types[column], _ = kind.(string)
	}
	return t, nil
}

func (t *table) name(record []string, header bool) error {
	for i, cell := range record {
		name := "c" + strconv.Itoa(i+1)
		if header && strings.TrimSpace(cell) != "" {
			name = strings.TrimSpace(cell)
		}
		if _, twice := t.index[name]; twice {
			return suggest(invalid("two columns are named %s", clip(name)), "rename one, or read the table with header: false")
		}
		t.index[name] = i
		t.columns = append(t.columns, name)
	}
	return nil
}

func delimiter(text string, content []byte) (rune, error) {
	switch {
	case text == "tab" || text == `\t`:
		return '\t', nil
	case text != "":
		r, size := utf8.DecodeRuneInString(text)
		if size != len(text) || r == '"' || r == '\r' || r == '\n' || r == utf8.RuneError || r == 0 {
			return 0, invalid("%s is not a delimiter", clip(text))
		}
		return r, nil
	}
	first, _, _ := bytes.Cut(content, []byte("\n"))
	best, most := ',', 0
	for _, r := range ",;\t|" {
		if n := bytes.Count(first, []byte(string(r))); n > most {
			best, most = r, n
		}
	}
	return best, nil
}

// column returns the position of a column.
func (t *table) column(name string) (int, error) {
	i, ok := t.index[name]
	if !ok {
		return 0, suggest(
			invalid("column %s not found", clip(name)),
			"columns: %s",
			strings.Join(t.columns[:min(len(t.columns), 20)], ", "),
		)
	}
	return i, nil
}

// number parses a cell as a number.
func (t *table) number(cell string) (*big.Rat, bool) {
	cell = strings.TrimSpace(cell)
	if t.decimal == "," {
		cell = strings.Replace(ungroup(cell, "."), ",", ".", 1)
	} else {
		cell = ungroup(cell, ",")
	}
	return parseRat(cell)
}

// ungroup removes separators between groups of three digits.
func ungroup(cell, separator string) string {
	whole, fraction := cell, ""
	point := "."
	if separator == "." {
		point = ","
	}
	if i := strings.Index(cell, point); i >= 0 {
		whole, fraction = cell[:i], cell[i:]
	}
	groups := strings.Split(whole, separator)
	for i, g := range groups {
		if i > 0 && len(g) != 3 || i == 0 && len(groups) > 1 && (strings.TrimLeft(g, "+-") == "" || len(strings.TrimLeft(g, "+-")) > 3) {
			return cell
		}
	}
	return strings.Join(groups, "") + fraction
}

// value returns the value of a cell in the result: a number if the column is numeric or the cell is
// exactly a plain number, and otherwise text (007 remains text).
func (t *table) value(column, cell string) any {
	switch t.types[column] {
	case "text":
		return cell
	case "number":
		if strings.TrimSpace(cell) == "" {
			return nil
		}
		if r, ok := t.number(cell); ok {
			return formatRat(r)
		}
		return cell
	}
	if t.decimal == "," {
		if r, ok := t.number(cell); ok && !zeroPadded(cell) {
			return formatRat(r)
		}
		return cell
	}
	if n, err := jsonvalue.Normalize(json.Number(cell)); err == nil {
		if _, ok := parseRat(cell); ok {
			return n
		}
	}
	return cell
}

func zeroPadded(cell string) bool {
	cell = strings.TrimLeft(strings.TrimSpace(cell), "+-")
	return len(cell) > 1 && cell[0] == '0' && '0' <= cell[1] && cell[1] <= '9'
}
