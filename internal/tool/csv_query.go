package tool

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// query filters, groups, sorts, and limits the table.
func (t *table) query(args arguments) (any, error) {
	if err := t.filter(args["filter"]); err != nil {
		return nil, err
	}
	columns := t.columns
	var rows []map[string]any
	var err error
	groupBy, aggregates := args.texts("group_by"), args.object("aggregate")
	if len(groupBy) > 0 || len(aggregates) > 0 {
		places := args.number("round", -1)
		if columns, rows, err = t.group(groupBy, aggregates, places); err != nil {
			return nil, err
		}
	} else {
		rows = make([]map[string]any, len(t.rows))
		for i, r := range t.rows {
			rows[i] = make(map[string]any, len(columns))
			for j, c := range columns {
				rows[i][c] = t.value(c, r.cells[j])
			}
		}
	}
	known := func(name string) error {
		if !slices.Contains(columns, name) {
			return suggest(
				invalid("column %s not found", clip(name)),
				"columns: %s",
				strings.Join(columns[:min(len(columns), 20)], ", "),
			)
		}
		return nil
	}
	if keys := args.texts("sort"); len(keys) > 0 {
		for _, key := range keys {
			if err := known(strings.TrimPrefix(key, "-")); err != nil {
				return nil, err
			}
		}
		slices.SortStableFunc(rows, func(a, b map[string]any) int {
			for _, key := range keys {
				name, descending := strings.CutPrefix(key, "-")
				c := order(a[name], b[name])
				if descending {
					c = -c
				}
				if c != 0 {
					return c
				}
			}
			return 0
		})
	}
	count := len(rows)
	rows = rows[:min(count, args.number("limit", defaultLimit))]
	if chosen := args.texts("columns"); len(chosen) > 0 {
		for _, c := range chosen {
			if err := known(c); err != nil {
				return nil, err
			}
		}
		for _, r := range rows {
			maps.DeleteFunc(r, func(c string, _ any) bool { return !slices.Contains(chosen, c) })
		}
		columns = chosen
	}
	out := make([]any, len(rows))
	for i, r := range rows {
		out[i] = r
	}
	names := make([]any, len(columns))
	for i, c := range columns {
		names[i] = c
	}
	return map[string]any{"columns": names, "rows": out, "count": count}, nil
}

// test is one condition on a row.
type test struct {
	column int
	op     string
	values []any
}

func (t *table) filter(spec any) error {
	var tests []test
	add := func(column, op string, v any) error {
		i, err := t.column(column)
		if err != nil {
			return err
		}
		list, isList := v.([]any)
		if !isList {
			list = []any{v}
		}
		if isList && (op == "=" || op == "==") {
			op = "in"
		}
		if isList && op != "in" {
			return invalid("%s requires one value, not a list", op)
		}
		tests = append(tests, test{i, op, list})
		return nil
	}
	switch spec := spec.(type) {
	case map[string]any:
		for _, column := range slices.Sorted(maps.Keys(spec)) {
			if err := add(column, "=", spec[column]); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range spec {
			object, _ := e.(map[string]any)
			m := arguments(object)
			if err := add(m.text("column"), cmp.Or(m.text("op"), "="), m["value"]); err != nil {
				return err
			}
		}
	}
	for _, c := range tests {
		t.rows = slices.DeleteFunc(t.rows, func(r row) bool { return !t.holds(c, r.cells[c.column]) })
	}
	return nil
}

func (t *table) holds(c test, cell string) bool {
	equal := func(v any) bool {
		text := jsonvalue.Text(v)
		if v == nil {
			text = ""
		}
		if cell == text {
			return true
		}
		x, ok := t.number(cell)
		y, ok2 := parseRat(text)
		return ok && ok2 && x.Cmp(y) == 0
	}
	blank := strings.TrimSpace(cell) == ""
	switch c.op {
	case "=", "==", "in":
		return slices.ContainsFunc(c.values, equal)
	case "!=":
		return !equal(c.values[0])
	case "contains":
		return strings.Contains(cell, jsonvalue.Text(c.values[0]))
	case "empty":
		return blank
	case "not_empty":
		return !blank
	}
	if blank {
		return false
	}
	text := jsonvalue.Text(c.values[0])
	d := strings.Compare(cell, text)
	if x, ok := t.number(cell); ok {
		if y, ok := parseRat(text); ok {
			d = x.Cmp(y)
		}
	}
	switch c.op {
	case "<":
		return d < 0
	case "<=":
		return d <= 0
	case ">":
		return d > 0
	}
	return d >= 0
}

// aggregate is one result column of a grouping.
type aggregate struct {
	name, op string
	column   int // -1: counts rows
}

var aggregateForm = regexp.MustCompile(`^\s*(sum|avg|min|max|count|distinct)\s*(?:\(\s*(.*?)\s*\))?\s*$`)

func (t *table) group(by []string, spec map[string]any, places int) (columns []string, rows []map[string]any, err error) {
	keys := make([]int, len(by))
	for i, name := range by {
		if keys[i], err = t.column(name); err != nil {
			return nil, nil, err
		}
		if slices.Contains(by[:i], name) {
			return nil, nil, invalid("group_by names %s twice", clip(name))
		}
	}
	var list []aggregate
	for _, name := range slices.Sorted(maps.Keys(spec)) {
		text, _ := spec[name].(string)
		m := aggregateForm.FindStringSubmatch(text)
		if m == nil || m[2] == "" && m[1] != "count" {
			return nil, nil, suggest(
				invalid("aggregate %s: invalid function %s", clip(name), clip(text)),
				"use sum(column), avg, min, max, count, or distinct",
			)
		}
		a := aggregate{name: name, op: m[1], column: -1}
		if m[2] != "" && m[2] != "*" {
			if a.column, err = t.column(m[2]); err != nil {
				return nil, nil, err
			}
		} else if a.op != "count" {
			return nil, nil, invalid("aggregate %s: %s needs a column", clip(name), a.op)
		}
		if slices.Contains(by, name) {
			return nil, nil, invalid("aggregate %s has the name of a column of group_by", clip(name))
		}
		list = append(list, a)
	}
	groups := map[string][]row{}
	var order []string
	for _, r := range t.rows {
		var key strings.Builder
		for _, i := range keys {
			key.WriteString(r.cells[i])
			key.WriteByte(0)
		}
		k := key.String()
		if _, ok := groups[k]; !ok {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	if len(by) == 0 && len(order) == 0 {
		order = []string{""} // the whole table is one group, even if it is empty
	}
	columns = slices.Clone(by)
	for _, a := range list {
		columns = append(columns, a.name)
	}
	for _, k := range order {
		g := groups[k]
		out := make(map[string]any, len(columns))
		for j, i := range keys {
			out[by[j]] = t.value(by[j], g[0].cells[i])
		}
		for _, a := range list {
			if out[a.name], err = t.compute(a, g, places); err != nil {
				return nil, nil, err
			}
		}
		rows = append(rows, out)
	}
	return columns, rows, nil
}

// compute computes one aggregate of one group. It ignores empty cells.
func (t *table) compute(a aggregate, rows []row, places int) (any, error) {
	if a.column < 0 {
		return len(rows), nil
	}
	n := 0
	sum := new(big.Rat)
	distinct := map[string]bool{}
	var best string
	var bestNumber *big.Rat
	for _, r := range rows {
		cell := strings.TrimSpace(r.cells[a.column])
		if cell == "" {
			continue
		}
		n++
		switch a.op {
		case "distinct":
			distinct[cell] = true
		case "sum", "avg":
			x, ok := t.number(cell)
			if !ok {
				return nil, suggest(invalid("line %d: %s in column %s is not a number", r.line, clip(cell), clip(t.columns[a.column])),
					"filter such rows out, or set decimal: \",\"")
			}
			if err := bounded(sum.Add(sum, x)); err != nil {
				return nil, invalid("line %d: %s", r.line, err)
			}
		case "min", "max":
			x, ok := t.number(cell)
			d := strings.Compare(cell, best)
			if ok && bestNumber != nil {
				d = x.Cmp(bestNumber)
			}
			if n == 1 || a.op == "min" && d < 0 || a.op == "max" && d > 0 {
				best, bestNumber = cell, nil
				if ok {
					bestNumber = x
				}
			}
		}
	}
	switch a.op {
	case "count":
		return n, nil
	case "distinct":
		return len(distinct), nil
	case "min", "max":
		if n == 0 {
			return nil, nil
		}
		if bestNumber != nil {
			return formatRat(bestNumber), nil
		}
		return best, nil
	case "avg":
		if n == 0 {
			return nil, nil
		}
		sum.Quo(sum, big.NewRat(int64(n), 1))
	}
	if places >= 0 {
		sum = roundRat(sum, places)
	}
	return formatRat(sum), nil
}

// order sorts empty values before numbers, and numbers before text.
func order(a, b any) int {
	rank := func(v any) int {
		switch v.(type) {
		case nil:
			return 0
		case json.Number, int:
			return 1
		}
		return 2
	}
	if c := cmp.Compare(rank(a), rank(b)); c != 0 || a == nil {
		return c
	}
	if rank(a) == 1 {
		x, ok := parseRat(text(a))
		y, ok2 := parseRat(text(b))
		if ok && ok2 {
			return x.Cmp(y)
		}
	}
	return strings.Compare(text(a), text(b))
}

func text(v any) string {
	n, err := jsonvalue.Normalize(v)
	if err != nil {
		return ""
	}
	return jsonvalue.Text(n)
}
