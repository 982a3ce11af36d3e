package locale_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/leonelquinteros/gotext"
	"golang.org/x/net/html"

	"github.com/kairosd/kairosd/web/locale"
)

// messages holds the messages that the sources translate, with and without a plural.
type messages struct {
	texts   map[string]string // text to the file that contains it
	plurals map[[2]string]string
}

// namers maps the functions that translate a message to the index of its text among the arguments.
// The template functions T and N take a context first, which is not counted; the methods do not.
var namers = map[string]int{"T": 0, "t": 0, "Mark": 0, "Text": 0, "shell": 1, "Shell": 1}
var counters = map[string]int{"N": 1, "n": 1, "Count": 1}

// sources returns the files of the dashboard with a suffix, without tests and catalogs.
func sources(t *testing.T, suffix string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{"locale", "testdata", "webtest", "browsertest", "static"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, suffix) && !strings.HasSuffix(path, "_test.go") {
			out = append(out, path)
		}
		return nil
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%d files, %v", len(out), err)
	}
	return out
}

// used returns all messages in the sources of the dashboard.
func used(t *testing.T) messages {
	t.Helper()
	m := messages{map[string]string{}, map[[2]string]string{}}
	for _, f := range sources(t, ".go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				m.add(f, call)
			}
			return true
		})
	}
	return m
}

func (m *messages) add(file string, call *ast.CallExpr) {
	name := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	literal := func(i int) string {
		if i >= len(call.Args) {
			return ""
		}
		s, _ := constant(call.Args[i])
		return s
	}
	after := 0
	if (name == "T" || name == "N") && len(call.Args) > 0 {
		if id, ok := call.Args[0].(*ast.Ident); ok && id.Name == "ctx" {
			after = 1
		}
	}
	if at, ok := namers[name]; ok {
		at += after
		if s := literal(at); strings.ContainsFunc(s, isLetter) {
			m.texts[s] = file
		}
	}
	if at, ok := counters[name]; ok {
		at += after
		if one := literal(at); one != "" {
			m.plurals[[2]string{one, literal(at + 1)}] = file
		}
	}
}

// constant returns the value of a string literal, or of literals joined with +.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		a, ok := constant(e.X)
		b, also := constant(e.Y)
		return a + b, e.Op == token.ADD && ok && also
	}
	return "", false
}

func isLetter(c rune) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

var formatVerb = regexp.MustCompile(`%(\[\d\])?(\.\d+)?[a-z]`)

func formatVerbs(s string) []string {
	return formatVerb.FindAllString(strings.ReplaceAll(s, "%%", ""), -1)
}

// Every message is translated into Spanish, with the same verbs in the same order, and es.po
// contains no unused message.
func TestEveryTextIsTranslated(t *testing.T) {
	t.Parallel()
	m := used(t)
	if len(m.texts) < 100 {
		t.Fatalf("only %d messages were found: the search is broken", len(m.texts))
	}
	po, _ := catalog(t)
	entries := po.GetDomain().GetTranslations()
	delete(entries, "") // the headers
	for _, s := range slices.Sorted(maps.Keys(m.texts)) {
		entry, ok := entries[s]
		if !ok {
			t.Errorf("%s shows %q, which es.po lacks", m.texts[s], s)
		} else if other := entry.Trs[0]; !slices.Equal(formatVerbs(s), formatVerbs(other)) {
			t.Errorf("%q takes %v, %q takes %v", s, formatVerbs(s), other, formatVerbs(other))
		}
	}
	counted := map[string]bool{}
	for p, file := range m.plurals {
		counted[p[0]] = true
		entry, ok := entries[p[0]]
		if !ok || entry.PluralID != p[1] {
			t.Errorf("%s counts %q, which es.po lacks", file, p)
		} else if one, other := entry.Trs[0], entry.Trs[1]; !slices.Equal(formatVerbs(p[1]), formatVerbs(other)) ||
			len(formatVerbs(p[0])) > 0 && len(formatVerbs(one)) == 0 {
			t.Errorf("%q and %q, %q take different arguments", p, one, other)
		}
	}
	known := literals(t)
	for s, entry := range entries {
		if _, ok := m.texts[s]; ok || counted[s] {
			continue
		}
		if !known[s] {
			t.Errorf("es.po has %q, which is not in the source", s)
		} else if other := entry.Trs[0]; !slices.Equal(formatVerbs(s), formatVerbs(other)) {
			t.Errorf("%q takes %v, %q takes %v", s, formatVerbs(s), other, formatVerbs(other))
		}
	}
}

// sourceOf calls visit for each node of the sources that create messages: errors, status messages,
// reasons, and notices.
func sourceOf(t *testing.T, visit func(ast.Node)) {
	t.Helper()
	outside := []string{
		"testdata",
		"locale",
		"cli",
		"client",
		"testing",
		"storetest",
		"enginetest",
		"apptest",
		"plannertest",
		"webtest",
		"browsertest",
	}
	for _, root := range []string{"../../internal", "../../planner", ".."} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && slices.Contains(outside, d.Name()) {
				return filepath.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_templ.go") {
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err == nil {
				ast.Inspect(f, func(n ast.Node) bool { visit(n); return true })
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// literals returns all strings in the sources, which include the formats of messages.
func literals(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	sourceOf(t, func(n ast.Node) {
		if e, ok := n.(ast.Expr); ok {
			if s, ok := constant(e); ok {
				out[s] = true
			}
		}
	})
	if len(out) < 5000 {
		t.Fatalf("only %d strings were found: the search is broken", len(out))
	}
	return out
}

// formats maps the functions that create messages to the possible indexes of the format among their
// arguments.
var formats = map[string][]int{
	"Errorf":        {1},
	"Suggest":       {0},
	"Messagef":      {0},
	"WithMessage":   {0},
	"NewMessage":    {0},
	"New":           {0},
	"noPlan":        {0},
	"conflict":      {0},
	"error":         {4},
	"warn":          {3, 4},
	"report":        {3},
	"fail":          {3},
	"schemaError":   {1},
	"neverRejected": {2},
}

// messageFormats returns the formats of messages in the sources.
func messageFormats(t *testing.T) []string {
	t.Helper()
	out := map[string]bool{}
	sourceOf(t, func(n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		name := ""
		switch f := call.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name = f.Sel.Name
			if x, ok := f.X.(*ast.Ident); ok && (x.Name == "fmt" || x.Name != "message" && name == "New") {
				return
			}
		}
		for _, at := range formats[name] {
			if at >= len(call.Args) {
				continue
			}
			if s, ok := constant(call.Args[at]); ok && strings.ContainsFunc(formatVerb.ReplaceAllString(s, ""), isLetter) {
				out[s] = true
			}
		}
	})
	return slices.Sorted(maps.Keys(out))
}

// Messages (errors, status messages, reasons) may lack a translation. untranslated.txt lists those
// that do, so that a translation cannot disappear unnoticed. A new message must be translated, or
// added to the list with -update.
func TestUntranslatedMessagesAreListed(t *testing.T) {
	po, _ := catalog(t)
	entries := po.GetDomain().GetTranslations()
	var missing []string
	all := messageFormats(t)
	if len(all) < 500 {
		t.Fatalf("only %d messages were found: the search is broken", len(all))
	}
	for _, s := range all {
		if _, ok := entries[s]; !ok {
			missing = append(missing, strconv.Quote(s))
		}
	}
	if *update {
		if err := os.WriteFile("untranslated.txt", []byte(strings.Join(missing, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile("untranslated.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSpace(string(file)), "\n")
	for _, s := range missing {
		if !slices.Contains(listed, s) {
			t.Errorf("%s has no Spanish: translate it in es.po, or add it to untranslated.txt with -update", s)
		}
	}
	t.Logf("%d of %d messages have Spanish", len(all)-len(missing), len(all))
}

var update = flag.Bool("update", false, "sort es.po and drop repeated entries")

// catalog parses es.po.
func catalog(t *testing.T) (po *gotext.Po, entries []string) {
	t.Helper()
	file, err := os.ReadFile("es.po")
	if err != nil {
		t.Fatal(err)
	}
	po = gotext.NewPo()
	po.Parse(file)
	// A merge may have joined two entries without the empty line between them.
	for part := range strings.SplitSeq(strings.ReplaceAll(string(file), "\nmsgid \"", "\n\nmsgid \""), "\n\n") {
		if part = strings.Trim(part, "\n"); part != "" {
			entries = append(entries, part)
		}
	}
	return po, entries
}

// entryKey returns the msgid of an entry.
func entryKey(t *testing.T, entry string) string {
	t.Helper()
	first, _, _ := strings.Cut(entry, "\n")
	key, err := strconv.Unquote(strings.TrimPrefix(first, "msgid "))
	if err != nil {
		t.Fatalf("an entry does not start with its msgid: %s", entry)
	}
	return key
}

// Sorted entries simplify merges of es.po, and reveal a text that is translated twice.
func TestCatalogIsSorted(t *testing.T) {
	_, entries := catalog(t)
	header, entries := strings.Join(entries[:2], "\n"), entries[2:] // the comment, and the entry of the headers
	if *update {
		slices.SortStableFunc(entries, func(a, b string) int { return strings.Compare(entryKey(t, a), entryKey(t, b)) })
		entries = slices.Compact(entries)
		if err := os.WriteFile("es.po", []byte(header+"\n\n"+strings.Join(entries, "\n\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if len(entries) < 2000 {
		t.Fatalf("only %d entries were found: the search is broken", len(entries))
	}
	for i := 1; i < len(entries); i++ {
		switch before, key := entryKey(t, entries[i-1]), entryKey(t, entries[i]); strings.Compare(before, key) {
		case 0:
			t.Errorf("%q is translated twice", key)
		case 1:
			t.Errorf("%q comes after %q: run this test with -update", key, before)
		}
	}
}

// rawAllowed matches text that templates may contain: names and code.
var rawAllowed = regexp.MustCompile(`^(kairos|JSON|YAML|UTC|[a-z]:|kairos (run|plans|resume) .*|null|v|cp|ID|CSV)$`)

// shown are the attributes whose values readers see or hear.
var shown = []string{"aria-label", "title", "placeholder", "alt"}

// Templates contain no literal text, because all text must go through T or N. The test joins the
// string literals of the generated code, with a placeholder for each value between them, and parses
// the result as HTML.
func TestTemplatesHoldNoRawText(t *testing.T) {
	t.Parallel()
	const value = "\x01"
	for _, f := range sources(t, "_templ.go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		var page strings.Builder
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "WriteString" {
				return true
			}
			if lit, ok := call.Args[len(call.Args)-1].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				page.WriteString(s)
			} else {
				page.WriteString(value)
			}
			return true
		})
		inert := 0 // depth inside elements that show code
		z := html.NewTokenizer(strings.NewReader(page.String()))
		for {
			typ := z.Next()
			if typ == html.ErrorToken {
				break
			}
			tok := z.Token()
			switch {
			case typ == html.StartTagToken && (tok.Data == "code" || tok.Data == "kbd"):
				inert++
			case typ == html.EndTagToken && (tok.Data == "code" || tok.Data == "kbd"):
				inert--
			case typ == html.TextToken && inert == 0:
				for part := range strings.SplitSeq(tok.Data, value) {
					if s := strings.TrimSpace(part); strings.ContainsFunc(s, isLetter) && !rawAllowed.MatchString(s) {
						t.Errorf("%s prints %q without translating it", filepath.Base(f), s)
					}
				}
			}
			for _, a := range tok.Attr {
				if slices.Contains(shown, a.Key) && strings.ContainsFunc(a.Val, isLetter) && !strings.HasPrefix(a.Val, "kairos") {
					t.Errorf("%s has %s=%q without translating it", filepath.Base(f), a.Key, a.Val)
				}
			}
		}
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{"": "en", "es": "es", "es-AR,es;q=0.9": "es", "fr, es;q=0.5, en;q=0.4": "es",
		"de": "en", "en-GB, es;q=0.9": "en", "es;q=x": "es", "*": "en", "en-XA": "en"} {
		if got := locale.Accepted(header).Tag; got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
	for _, c := range []struct {
		l    *locale.Language
		n    int64
		want string
	}{{locale.English, 1234567, "1,234,567"}, {locale.Spanish, 1234567, "1.234.567"}, {locale.Spanish, 1234, "1234"},
		{locale.English, -12, "-12"}, {locale.English, 999, "999"}} {
		if got := c.l.Number(c.n); got != c.want {
			t.Errorf("%d in %s: %s, want %s", c.n, c.l.Tag, got, c.want)
		}
	}
	if got := locale.Spanish.Decimal(48211.5, 2); got != "48.211,50" {
		t.Error(got)
	}
}
