package jsonpath_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/tool/jsonpath"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

func value(tb testing.TB, text string) any {
	tb.Helper()
	v, err := jsonvalue.Decode([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// The bookstore and the small values of RFC 9535, section 2.
const store = `{"store": {"book": [
  {"category": "reference", "author": "Nigel Rees", "title": "Sayings", "price": 8.95},
  {"category": "fiction", "author": "Evelyn Waugh", "title": "Sword", "price": 12.99},
  {"category": "fiction", "author": "Herman Melville", "title": "Moby", "isbn": "0-553-21311-3", "price": 8.99},
  {"category": "fiction", "author": "J. R. R. Tolkien", "title": "Rings", "isbn": "0-395-19395-8", "price": 22.99}],
  "bicycle": {"color": "red", "price": 399}}}`

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ value, path, want string }{
		{store, `$.store.book[*].author`, `["Nigel Rees","Evelyn Waugh","Herman Melville","J. R. R. Tolkien"]`},
		{store, `$..author`, `["Nigel Rees","Evelyn Waugh","Herman Melville","J. R. R. Tolkien"]`},
		{store, `$.store..price`, `[399,8.95,12.99,8.99,22.99]`},
		{store, `$..book[2].title`, `["Moby"]`},
		{store, `$..book[-1].title`, `["Rings"]`},
		{store, `$..book[0,1].title`, `["Sayings","Sword"]`},
		{store, `$..book[:2].title`, `["Sayings","Sword"]`},
		{store, `$..book[?@.isbn].title`, `["Moby","Rings"]`},
		{store, `$..book[?@.price<10].title`, `["Sayings","Moby"]`},
		{store, `$..book[?@.price < $.store.bicycle.price && !@.isbn].title`, `["Sayings","Sword"]`},
		{store, `$..book[?@.category == 'reference' || @.price > 20]['title']`, `["Sayings","Rings"]`},
		{store, `$..book[?match(@.author, "J.*")].title`, `["Rings"]`},
		{store, `$..book[?search(@.author, 'el')].title`, `["Sayings","Sword","Moby"]`},
		{store, `$..book[?length(@.title) == 5].title`, `["Sword","Rings"]`},
		{store, `$.store[?count(@.*) > 3 && count(@[*].isbn) == 2][0].title`, `["Sayings"]`},
		{store, `$.store[?value(@.color) == "red"].price`, `[399]`},
		{`{"o": {"j j": {"k.k": 3}}}`, `$.o['j j']["k.k"]`, `[3]`},
		{`{"'": {"@": 2}}`, `$["'"]['@']`, `[2]`},
		{`{"a\"b": 1}`, `$["a\"b"]`, `[1]`},
		{`{"☺": 1}`, `$.☺`, `[1]`},
		{`{"☺": 1}`, `$['\u263a']`, `[1]`},
		{`{"😀": 1}`, `$["\uD83D\uDE00"]`, `[1]`},
		{`["a","b","c","d","e","f","g"]`, `$[1:3]`, `["b","c"]`},
		{`["a","b","c","d","e","f","g"]`, `$[5:]`, `["f","g"]`},
		{`["a","b","c","d","e","f","g"]`, `$[1:5:2]`, `["b","d"]`},
		{`["a","b","c","d","e","f","g"]`, `$[5:1:-2]`, `["f","d"]`},
		{`["a","b","c","d","e","f","g"]`, `$[::-1]`, `["g","f","e","d","c","b","a"]`},
		{`["a","b"]`, `$[0:2:0]`, `[]`},
		{`["a","b"]`, `$[9007199254740991]`, `[]`},
		{`["a","b"]`, `$[-9]`, `[]`},
		{`{"o": {"j": 1, "k": 2}, "a": [5, 3]}`, `$[*]`, `[[5,3],{"j":1,"k":2}]`},
		{`{"o": {"j": 1, "k": 2}, "a": [5, 3]}`, `$.o[*, *]`, `[1,2,1,2]`},
		{`[[1, [2]], 3]`, `$..[0]`, `[[1,[2]],1,2]`},
		{`[1, 1.0, "1", true, null, [1], {"a": 1}]`, `$[?@ == 1]`, `[1,1.0]`},
		{`[{"a": null}, {}]`, `$[?@.a == null]`, `[{"a":null}]`},
		{`[{"a": 1}, {}]`, `$[?@.a != 1]`, `[{}]`},
		{`[{"a": 1, "b": 1}, {}, {"a": 2}]`, `$[?@.a == @.b]`, `[{"a":1,"b":1},{}]`},
		{`[1, 2, 3]`, `$[?(@ > 1 && !(@ == 3))]`, `[2]`},
		{`[[1, 2], [1, 3]]`, `$[?@[?@ == 3]]`, `[[1,3]]`},
		{`["a", "b"]`, `$[?@ >= 'b']`, `["b"]`},
		{`{"a": {"b": 7}}`, "$ .a [ 'b' ]", `[7]`},
		{`5`, `$`, `[5]`},
		{`5`, `$.a.b`, `[]`},
		{`[12345678901234567890, 1e400]`, `$[?@ == 12345678901234567890]`, `[12345678901234567890]`},
	} {
		p, err := jsonpath.Parse(c.path)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		found, err := p.Find(t.Context(), value(t, c.value))
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
		if found == nil {
			found = []any{}
		}
		if got, want := jsonvalue.Text(found), jsonvalue.Text(value(t, c.want)); got != want {
			t.Errorf("%s of %.60s: got %s, want %s", c.path, c.value, got, want)
		}
	}
}

func TestSingular(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{`$`: true, `$.a[0]['b']`: true, `$.*`: false, `$..a`: false, `$[0,1]`: false,
		`$[0:1]`: false, `$[?@]`: false} {
		p, err := jsonpath.Parse(path)
		if err != nil || p.Singular() != want {
			t.Errorf("%s: singular %v (%v), want %v", path, !want, err, want)
		}
	}
}

func TestMalformedPaths(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		``: "begin with $", `a`: "begin with $", `$.`: "missing name", `$[`: "expected a name", `$[]`: "expected a name",
		`$[01]`: "not an index", `$[-0]`: "not an index", `$[9007199254740992]`: "not an index",
		`$['a`: "unclosed string", `$['\x']`: "unknown escape", `$["\ud800"]`: "malformed", `$[1 2]`: "expected , or ]",
		`$.a b`: "unexpected", `$[?]`: "expected @", `$[?@.a ==]`: "expected @", `$[?1]`: "missing comparison",
		`$[?@.* == 1]`: "only a query with names", `$[?1 == @..a]`: "only a query with names",
		`$[?!@.a == 1]`: "negated comparison in parentheses", `$[?(@.a]`: "expected )", `$[?match(@.a, '[')]`: "malformed pattern",
		`$[?count(1) == 1]`:    "requires a query",
		`$[?length(@.*) == 1]`: "use count", `$[?foo(@)]`: "expected @", "$['\n']": "control character",
		`$` + strings.Repeat(`[?@`, 100): "nested deeper", `$[?` + strings.Repeat(`(`, 100): "nested deeper",
		`$[?@ == ` + strings.Repeat(`length(`, 100): "nested deeper", `$` + strings.Repeat(".a", 4096): "at most", "$.\xff": "UTF-8",
		`$.1a`: "missing name", `$[?@ == 1.]`: "not a number",
	} {
		_, err := jsonpath.Parse(path)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: got %v, want %q", path, err, want)
		}
	}
}

// A small query that would have an unlimited cost is stopped.
func TestFindIsBounded(t *testing.T) {
	t.Parallel()
	v := value(t, strings.Repeat("[", 400)+strings.Repeat("]", 400))
	p, err := jsonpath.Parse("$" + strings.Repeat("..*", 20))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Find(t.Context(), v); err == nil {
		t.Error("a query over a million values was let through")
	}
}

// The budget of a query also includes comparisons and pattern matches.
func TestFindIsBoundedInWhatItCompares(t *testing.T) {
	t.Parallel()
	items := make([]any, 2000)
	for i := range items {
		items[i] = json.Number(strconv.Itoa(i))
	}
	many := make([]any, 2000)
	for i := range many {
		many[i] = map[string]any{"list": items, "text": strings.Repeat("a", 10_000)}
	}
	root := map[string]any{
		"many":    many,
		"list":    items,
		"text":    strings.Repeat("a", 10_000),
		"pattern": strings.Repeat("(a?){90}", 10) + "b",
	}
	for _, path := range []string{`$.many[?@.list == $.list]`, `$.many[?@.text == $.text]`, `$.many[?@.text <= $.text]`,
		`$.many[?length(@.text) == 5]`,
		`$.many[?match(@.text, '(a?){90}b')]`, `$.many[?search(@.text, $.pattern)]`} {
		p, err := jsonpath.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		root["many"] = slices.Repeat(many, 10)
		if _, err := p.Find(t.Context(), root); err == nil {
			t.Errorf("%s was let through", path)
		}
	}
	p, err := jsonpath.Parse(`$.many[?@.list != 1]`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Find(ctx, root); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancel: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"$.a[0]", "$..*", "$[?@.a == 'x' && count(@.*) > 1]", "$[::-1]", `$["\u263a"]`, "$[?search(@, 'a+')]"} {
		f.Add(s)
	}
	v := value(f, store)
	f.Fuzz(func(t *testing.T, s string) {
		p, err := jsonpath.Parse(s)
		if err != nil {
			return
		}
		found, err := p.Find(t.Context(), v)
		if err == nil && p.Singular() && len(found) > 1 {
			t.Fatalf("%s is singular and found %d", s, len(found))
		}
	})
}
