package tool_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

func TestCSVComputesRealTotals(t *testing.T) {
	t.Parallel()
	set := builtin(t, tool.Config{Files: tool.FilesConfig{Roots: []string{"testdata"}}}, nil)
	for args, want := range map[string]string{
		`"file": "sales.csv", "filter": {"quarter": "Q4"}, "group_by": ["region"], "aggregate": {"total": "sum(net_sales)", ` +
			`"sales": "count"}, "sort": ["-total"]`: `{"columns":["region","sales","total"],"count":3,` +
			`"rows":[{"region":"NA","sales":4,"total":569000},{"region":"EMEA","sales":4,"total":493000},{"region":"APAC",` +
			`"sales":4,"total":400000}]}`,
		`"file": "sales.csv", "filter": {"quarter": "Q4"}, "aggregate": {"total": "sum(net_sales)"}`: `{"columns":["total"],` +
			`"count":1,"rows":[{"total":1462000}]}`,
		`"file": "costs.csv", "filter": [{"column": "amount", "op": ">=", "value": 8000}, {"column": "category", "value": ` +
			`"Software"}], "columns": ["date", "amount"], "limit": 1`: `{"columns":["date","amount"],"count":2,` +
			`"rows":[{"amount":8000,"date":"2024-10-05"}]}`,
	} {
		got, f := call(t, set, "csv", "{"+args+"}")
		if f != nil || got != want {
			t.Errorf("%s:\n got %s (%v)\nwant %s", args, got, f, want)
		}
	}
}

func TestCSV(t *testing.T) {
	t.Parallel()
	set := builtin(t, tool.Config{}, nil)
	for args, want := range map[string]string{
		`"text": "a,b\n1,x\n2.50,\"y, z\"\n"`: `{"columns":["a","b"],"count":2,"rows":[{"a":1,"b":"x"},{"a":2.50,"b":"y, z"}]}`,
		`"text": "zip\n00123\n"`:              `{"columns":["zip"],"count":1,"rows":[{"zip":"00123"}]}`,
		`"text": "n;m\n1.234,50;2\n0,5;3\n", "decimal": ",", "aggregate": {"s": "sum(n)"}`: `{"columns":["s"],"count":1,` +
			`"rows":[{"s":1235}]}`,
		`"text": "n\n0.1\n0.2\n", "aggregate": {"s": "sum(n)", "a": "avg(n)", "lo": "min(n)", "hi": "max(n)", "c": "count", ` +
			`"d": "distinct(n)"}`: `{"columns":["a","c","d","hi","lo","s"],"count":1,"rows":[{"a":0.15,"c":2,"d":2,"hi":0.2,` +
			`"lo":0.1,"s":0.3}]}`,
		`"text": "n\n1\n\n\"\"\n2\n", "aggregate": {"a": "avg(n)", "c": "count(n)"}`:                                  `{"columns":["a","c"],"count":1,"rows":[{"a":1.5,"c":2}]}`,
		`"text": "n\n1\n1\n2\n", "aggregate": {"a": "avg(n)"}, "round": 2`:                                            `{"columns":["a"],"count":1,"rows":[{"a":1.33}]}`,
		`"text": "a\n", "aggregate": {"s": "sum(a)", "m": "max(a)"}`:                                                  `{"columns":["m","s"],"count":1,"rows":[{"m":null,"s":0}]}`,
		`"text": "1,2\n3,4\n", "header": false, "sort": ["-c1"]`:                                                      `{"columns":["c1","c2"],"count":2,"rows":[{"c1":3,"c2":4},{"c1":1,"c2":2}]}`,
		`"text": "a\n10\n9\nx\n", "sort": ["a"]`:                                                                      `{"columns":["a"],"count":3,"rows":[{"a":9},{"a":10},{"a":"x"}]}`,
		`"text": "\ufeffa\tb\n1\t2\n"`:                                                                                `{"columns":["a","b"],"count":1,"rows":[{"a":1,"b":2}]}`,
		`"text": "a,b\n1\n"`:                                                                                          `{"columns":["a","b"],"count":1,"rows":[{"a":1,"b":""}]}`,
		`"text": "a,b\n1,2\n3,4\n", "filter": {"a": [1, 7]}`:                                                          `{"columns":["a","b"],"count":1,"rows":[{"a":1,"b":2}]}`,
		`"text": "a\nx1\ny2\n", "filter": [{"column": "a", "op": "contains", "value": "y"}]`:                          `{"columns":["a"],"count":1,"rows":[{"a":"y2"}]}`,
		`"text": "a,b\n1,\n2,x\n", "filter": [{"column": "b", "op": "empty"}], "types": {"a": "text", "b": "number"}`: `{"columns":["a","b"],"count":1,"rows":[{"a":"1","b":null}]}`,
		`"text": "d\n2024-10-03\n2024-09-30\n", "filter": [{"column": "d", "op": ">=", "value": "2024-10-01"}]`:       `{"columns":["d"],"count":1,"rows":[{"d":"2024-10-03"}]}`,
		`"text": "a\n1\n2\n3\n", "limit": 2`:                                                                          `{"columns":["a"],"count":3,"rows":[{"a":1},{"a":2}]}`,
	} {
		got, f := call(t, set, "csv", "{"+args+"}")
		if f != nil || got != want {
			t.Errorf("%s:\n got %s (%v)\nwant %s", args, got, f, want)
		}
	}
	for args, want := range map[string]string{
		`{}`: "exactly one of", `{"text": "a", "file": "b"}`: "exactly one of", `{"text": ""}`: "empty",
		`{"text": "a,a\n1,2"}`: "two columns", `{"text": "a\n1,2"}`: "line 2 has 2 cells", `{"text": "a\n\"1"}`: "line 2",
		`{"text": "a\nx", "aggregate": {"s": "sum(a)"}}`:    "line 2",
		`{"text": "a\n1", "aggregate": {"s": "median(a)"}}`: "invalid function",
		`{"text": "a\n1", "aggregate": {"s": "sum"}}`:       "invalid function", `{"text": "a\n1", "group_by": ["b"]}`: "not found",
		`{"text": "a\n1", "sort": ["b"]}`: "not found", `{"text": "a\n1", "columns": ["b"]}`: "not found",
		`{"text": "a\n1", "delimiter": "ab"}`: "not a delimiter", `{"text": "a\n1", "limit": -1}`: "limit",
		`{"text": "a\n1", "filter": [{"op": "="}]}`: "filter",
		`{"text": "a\n1", "filter": {"b": 1}}`:      "not found", `{"file": "sales.csv"}`: "file access is not enabled",
		`{"text": "a\n1", "group_by": ["a", "a"]}`:                               "twice",
		`{"text": "a\n1", "filter": [{"column": "a", "op": "<", "value": [1]}]}`: "one value",
	} {
		refuses(t, set, "csv", args, want)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("a,b\n1,2\n", ",", "sum(a)")
	f.Add("\xef\xbb\xbfa;b\n\"1,5\";x\n", ".", "max(b)")
	set := builtin(f, tool.Config{}, nil)
	f.Fuzz(func(t *testing.T, text, decimal, aggregate string) {
		args, err := jsonvalue.Encode(map[string]any{"text": text, "decimal": decimal, "aggregate": map[string]any{"x": aggregate}})
		if err != nil {
			t.Skip()
		}
		call(t, set, "csv", string(args))
	})
}
