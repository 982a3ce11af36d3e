package arch

import (
	"fmt"
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
)

// longLines is lines.txt: how many lines over 140 columns each directory still has.
const longLines = "lines.txt"

// No line of a source exceeds 140 columns; a tab counts as four. lines.txt lists the
// directories that have longer ones, and how many. -update writes the list again; it refuses
// when the total has grown. KAIROS_LINES=DIRECTORY prints the long lines of a directory.
func TestLinesAreShort(t *testing.T) {
	t.Parallel()
	found := map[string][]string{}
	files := 0
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := d.Name(); d.IsDir() {
			if path != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin" || base == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines, err := linesOver(name, string(text))
		if err != nil {
			return err
		}
		files++
		dir := filepath.ToSlash(filepath.Dir(name))
		for _, line := range lines {
			found[dir] = append(found[dir], fmt.Sprintf("%s:%d", name, line))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 1000 {
		t.Fatalf("only %d files were found", files)
	}
	for _, line := range found[os.Getenv("KAIROS_LINES")] {
		t.Log(line)
	}
	counts := map[string]int{}
	for dir, lines := range found {
		counts[dir] = len(lines)
	}
	compareCounts(t, longLines, counts, "lines over 140 columns", "TestLinesAreShort", "KAIROS_LINES")
}

// generatedAsset are the styles and scripts that go generate builds, and those of others.
var generatedAsset = regexp.MustCompile(`^web/static/[^/]+\.(css|js)$`)

// unbroken is a text without a space that is too long for any line: an address, a hash, or
// data.
var unbroken = regexp.MustCompile(`\S{100,}`)

// linesOver returns the numbers of the lines that are too long and can be broken. It leaves out
// generated files, struct tags, tables and code in Markdown, and data of tests in raw strings.
func linesOver(name, text string) (over []int, err error) {
	may := func(int) bool { return true }
	switch ext := filepath.Ext(name); {
	case ext == ".go":
		f, set, err := parsed(name, text)
		if err != nil {
			return nil, err
		}
		if ast.IsGenerated(f) {
			return nil, nil
		}
		kept := structTags(f, set)
		if strings.HasSuffix(name, "_test.go") {
			maps.Copy(kept, rawStrings(f, set))
		}
		may = func(line int) bool { return !kept[line] }
	case ext == ".md":
		code := false
		skipped := map[int]bool{}
		n := 0
		for line := range strings.Lines(text) {
			n++
			fence := strings.HasPrefix(strings.TrimSpace(line), "```")
			skipped[n] = code || fence || strings.HasPrefix(line, "|")
			code = code != fence
		}
		may = func(line int) bool { return !skipped[line] }
	case ext == ".templ":
	case (ext == ".css" || ext == ".js") && !generatedAsset.MatchString(name):
	default:
		return nil, nil
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		columns := len([]rune(line)) + 3*strings.Count(line, "\t")
		if columns > longestLine && may(n) && !unbroken.MatchString(line) {
			over = append(over, n)
		}
	}
	return over, nil
}

func parsed(name, text string) (*ast.File, *token.FileSet, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return f, set, err
}

// structTags returns the lines with a struct tag, which cannot be broken.
func structTags(f *ast.File, set *token.FileSet) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && field.Tag != nil {
			lines[set.Position(field.Tag.Pos()).Line] = true
		}
		return true
	})
	return lines
}

// rawStrings returns the lines of raw strings. A break there would change their value.
func rawStrings(f *ast.File, set *token.FileSet) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.HasPrefix(lit.Value, "`") {
			for line := set.Position(lit.Pos()).Line; line <= set.Position(lit.End()).Line; line++ {
				lines[line] = true
			}
		}
		return true
	})
	return lines
}

// compareCounts compares what was found in each directory with a list of what is still
// allowed: no directory may exceed its count. A lower count is only logged, because two branches
// that are merged may both lower it. With -update, it writes the list again unless the total
// has grown.
func compareCounts(t *testing.T, list string, found map[string]int, unit, test, variable string) {
	t.Helper()
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for line := range strings.Lines(string(text)) {
		dir, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatalf("%s: %s", list, line)
		}
		listed[dir] = n
	}
	total, allowed := 0, 0
	for _, n := range found {
		total += n
	}
	for _, n := range listed {
		allowed += n
	}
	if *update {
		if total > allowed {
			t.Fatalf("%d %s, and %s allows %d", total, unit, list, allowed)
		}
		var lines []string
		for dir, n := range found {
			lines = append(lines, fmt.Sprintf("%s %d\n", dir, n))
		}
		slices.Sort(lines)
		if err := os.WriteFile(list, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	lower := "lower it with go test ./internal/arch -run " + test + " -update"
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		switch n := found[dir]; {
		case n > listed[dir]:
			t.Errorf("%s has %d %s, and %s allows %d. If you moved files: -update. Else fix them: %s=%s prints them with -v",
				dir, n, unit, list, listed[dir], variable, dir)
		case n < listed[dir]:
			t.Errorf("%s has %d %s, and %s allows %d: %s", dir, n, unit, list, listed[dir], lower)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(listed)) {
		if found[dir] == 0 {
			t.Errorf("%s has no %s any more: %s", dir, unit, lower)
		}
	}
}

// The rule finds lines that can be broken, and no others.
func TestLongLinesAreFound(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("word ", 30)
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"a.go", "package a\n\n// " + words + "\n", 1},
		{"a.go", "package a\n\n\t\t// " + strings.Repeat("w ", 67) + "\n", 1},
		{"a.go", "// Code generated by hand. DO NOT EDIT.\n\npackage a\n\n// " + words + "\n", 0},
		{"a.go", "package a\n\nconst a = `" + words + "`\n", 1},
		{"a.go", "package a\n\ntype a struct {\n\tb int `doc:\"" + words + "\"`\n}\n", 0},
		{"a_test.go", "package a\n\nconst a = `" + words + "`\n", 0},
		{"a_test.go", "package a\n\nconst a = \"" + words + "\"\n", 1},
		{"a.go", "package a\n\nconst a = \"" + strings.Repeat("w", 130) + "\"\n", 0},
		{"a.md", "| " + words + " |\n\n```sh\n" + words + "\n```\n", 0},
		{"a.md", words + "\n", 1},
		{"a.templ", "<p>" + words + "</p>\n", 1},
		{"web/static/css/a.css", "/* " + words + " */\n", 1},
		{"web/static/a.css", "/* " + words + " */\n", 0},
		{"a.txt", words + "\n", 0},
	} {
		if got, err := linesOver(c.name, c.text); err != nil || len(got) != c.want {
			t.Errorf("%s %.40q: lines %v, %v; want %d", c.name, c.text, got, err, c.want)
		}
	}
}
