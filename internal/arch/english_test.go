package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// bannedInCode are words and constructions that make a reader of comments and messages
// guess, with what to write instead. The rules of pages (banned) apply too.
var bannedInCode = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{
		regexp.MustCompile(`(?i)\b(says|tells|told|knows|believes|hears|heard)\b`),
		"print, show, report, return, record, or notify: software does not speak",
	},
	{regexp.MustCompile(`(?i)\b(are|was|were|be|been|being) (asked|believed)\b`), "name who does what"},
	{regexp.MustCompile(`(?i)\bgoing on\b`), "continue or in progress"},
	{regexp.MustCompile(`(?i)\b(put|puts|putting|set|sets|laid) aside\b`), "quarantine, move, or reserve"},
	{regexp.MustCompile(`(?i)\bcomes? of (it|them|a|the|an)\b`), "the result or the state"},
	{regexp.MustCompile(`(?i)\b(take|takes|took|taken|taking) up\b`), "apply, start, or continue"},
	{
		regexp.MustCompile(`(?i)\b(incarnation|unclean death|ballast|stand-?in|teller|epoch)s?\b`),
		"the term of the glossary: generation, crash, reserve file, override, notifier",
	},
	{regexp.MustCompile(`(?i)\b(foresee|foretell|forecast)s?\b`), "predict"},
	{regexp.MustCompile(`(?i)\b(examination|examines|examined|drill|drills)\b`), "integrity check, check, or restore test"},
	{regexp.MustCompile(`(?i)\b(crew|twin|twins|vitals|vital lines?)\b`), "catalog, JSON view, or health metrics"},
}

// citation is a number that only other pages explain. Tests name the rows of bad-inputs.md that
// they cover, as TestBadInputsAreTested requires.
var citation = regexp.MustCompile(`\b[LTR][0-9]{2}\b`)

// isNo finds `"foo" is no address`. `There is no file` and `it is no longer there` are plain.
var isNo = regexp.MustCompile(`(?i)\b(there )?(?:is|are|was|were) no ([a-z]+)`)

// bannedNames are words that declared names must not contain.
var bannedNames = map[string]string{
	"aside": "quarantined", "anew": "again", "ballast": "reserve", "band": "section", "crew": "catalog", "drill": "restore test",
	"examination": "integrity check", "examined": "checked", "epoch": "generation",
	"forecast": "predict", "foresee": "predict", "foretell": "predict",
	"incarnation": "generation", "legible": "readable", "misfit": "incompatible", "nobody": "none", "said": "message",
	"says": "the text", "stow": "encode", "teller": "notifier", "telling": "notifying", "tells": "notifies",
	"told": "notified", "twin": "JSON view", "vitals": "health metrics", "whoever": "the role",
}

// Comments, messages, and names of Go sources, comments of queries, and help texts of the
// Makefile are plain English.
func TestSourcesAreWrittenPlainly(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if base := d.Name(); name != "." &&
				(strings.HasPrefix(base, ".") || base == "testdata" || base == "bin" || base == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		add := func(line int, fault string) {
			t.Errorf("%s:%d: %s", name, line, fault)
		}
		switch {
		case name == "internal/arch/english_test.go" || name == "internal/arch/prose_test.go":
		case strings.HasSuffix(name, ".go"):
			files++
			return goFaults(path, add)
		case strings.HasPrefix(name, "db/queries/") && strings.HasSuffix(name, ".sql"):
			return lineFaults(path, "--", add)
		case name == "Makefile":
			return lineFaults(path, "#", add)
		case name == "internal/api/properties.txt":
			return textFaults(path, description, add)
		case name == "web/locale/es.po":
			return textFaults(path, englishText, add)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Fatalf("only %d files were found", files)
	}
}

// lineFaults checks what follows the mark of a comment on each line of a file.
func lineFaults(path, mark string, add func(int, string)) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if _, comment, ok := strings.Cut(line, mark); ok {
			for _, fault := range wordFaults(comment, true) {
				add(n, fault)
			}
		}
	}
	return nil
}

// description matches the description of a property of the API.
var description = regexp.MustCompile(`^\S+: (.+)$`)

// englishText matches the English text of an entry in the catalog of translations.
var englishText = regexp.MustCompile(`^msgid(?:_plural)? "(.*)"$`)

// textFaults checks what the pattern captures on each line of a file.
func textFaults(path string, pattern *regexp.Regexp, add func(int, string)) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if m := pattern.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			for _, fault := range wordFaults(m[1], false) {
				add(n, fault)
			}
		}
	}
	return nil
}

// goFaults checks the comments of a file and the names that it declares, and its messages if it
// is not a test.
func goFaults(path string, add func(int, string)) error {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(f) {
		return nil
	}
	for _, group := range f.Comments {
		for _, fault := range wordFaults(group.Text(), !strings.HasSuffix(path, "_test.go")) {
			add(set.Position(group.Pos()).Line, fault)
		}
	}
	checkNames(path, f, set, add)
	if strings.HasSuffix(path, "_test.go") {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			// A word alone is a name or a value; a message has a space.
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && strings.Contains(text, " ") {
				for _, fault := range wordFaults(text, false) {
					add(set.Position(n.Pos()).Line, fault)
				}
			}
		}
		return true
	})
	return nil
}

// checkNames reports words of declared names that bannedNames lists. Outside the dashboard, it also checks the
// parameters and variables of functions that are not tests.
func checkNames(path string, f *ast.File, set *token.FileSet, add func(int, string)) {
	names := declared(f)
	if !strings.HasSuffix(path, "_test.go") && !strings.Contains(filepath.ToSlash(path), "/web/") {
		names = append(names, locals(f)...)
	}
	for _, name := range names {
		for word := range camelWords(strings.ReplaceAll(name.Name, "OutOfBand", "")) { // a term of htmx
			if instead, ok := bannedNames[word]; ok {
				add(set.Position(name.Pos()).Line, "the name "+name.Name+": write "+instead)
			}
		}
	}
}

// locals returns the parameters, results, and variables of the functions in a file.
func locals(f *ast.File) (names []*ast.Ident) {
	define := func(tok token.Token, list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok && tok == token.DEFINE {
				names = append(names, id)
			}
		}
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				names = append(names, n.Names...)
			case *ast.ValueSpec:
				names = append(names, n.Names...)
			case *ast.AssignStmt:
				define(n.Tok, n.Lhs...)
			case *ast.RangeStmt:
				define(n.Tok, n.Key, n.Value)
			}
			return true
		})
	}
	return names
}

// wordFaults lists what breaks the rules in a comment or in a message. What two rules find
// at one place counts once. cites reports citations too.
func wordFaults(text string, cites bool) (faults []string) {
	text = strings.Join(strings.Fields(text), " ")
	end := map[int]bool{}
	found := func(at []int, instead string) {
		if end[at[1]] || strings.HasSuffix(text[at[0]:at[1]], " no longer") {
			return
		}
		end[at[1]] = true
		around := strings.ToValidUTF8(text[max(0, at[0]-30):min(len(text), at[1]+30)], "")
		faults = append(faults, fmt.Sprintf("%q (…%s…): write %s", text[at[0]:at[1]], around, instead))
	}
	for _, list := range [][]struct {
		pattern *regexp.Regexp
		instead string
	}{banned, bannedInCode} {
		for _, b := range list {
			for _, at := range b.pattern.FindAllStringIndex(text, -1) {
				found(at, b.instead)
			}
		}
	}
	for _, at := range isNo.FindAllStringSubmatchIndex(text, -1) {
		if word := text[at[4]:at[5]]; at[2] < 0 && word != "such" {
			found(at, "is not a")
		}
	}
	if cites {
		for _, at := range citation.FindAllStringIndex(text, -1) {
			found(at, "the reason")
		}
	}
	return faults
}

// declared returns the names that a file declares: those of the package, methods, and fields.
func declared(f *ast.File) (names []*ast.Ident) {
	names = append(names, f.Name)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					names = append(names, s.Names...)
				case *ast.TypeSpec:
					names = append(names, s.Name)
					ast.Inspect(s.Type, func(n ast.Node) bool {
						if field, ok := n.(*ast.Field); ok {
							names = append(names, field.Names...)
						}
						return true
					})
				}
			}
		}
	}
	return names
}

// camelWords yields the words of a name in lower case.
func camelWords(name string) func(func(string) bool) {
	return func(yield func(string) bool) {
		from := 0
		for i, r := range name + "A" {
			if i > 0 && (unicode.IsUpper(r) || r == '_') {
				if word := strings.ToLower(strings.Trim(name[from:i], "_")); word != "" && !yield(word) {
					return
				}
				from = i
			}
		}
	}
}

// The rules see what they are for.
func TestPlainSourcesAreRecognized(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"Start creates a run. There is no other way, and it is no longer read.": 0,
		"Whoever asks is told.":                   2,
		"The row says what came of it (L06).":     2,
		"%q is no address of a daemon":            1,
		"this process was put aside":              1,
		"A restored database begins a new epoch.": 1,
	} {
		if faults := wordFaults(text, true); len(faults) != want {
			t.Errorf("%q: %d faults, want %d: %v", text, len(faults), want, faults)
		}
	}
	if words := slices.Collect(camelWords("tellerOfHTTPAside")); !slices.Equal(
		words,
		[]string{"teller", "of", "h", "t", "t", "p", "aside"},
	) {
		t.Errorf("words of a name: %v", words)
	}
}
