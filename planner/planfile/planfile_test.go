package planfile_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/planfile"
)

// link links files in memory.
func link(root string, files map[string]string) ([]planfile.File, planner.Problems) {
	return planfile.Link(root, planfile.Options{Read: func(path string) ([]byte, error) {
		if src, ok := files[path]; ok {
			return []byte(src), nil
		}
		return nil, fs.ErrNotExist
	}})
}

const leaf = "id: leaf\nnodes: {a: {type: set, input: 1}}\n"

func TestFilesBecomeIDs(t *testing.T) {
	t.Parallel()
	files, problems := link("main.yaml", map[string]string{
		"main.yaml": `# keeps its comments
id: main
templates:
  call: {type: plan, plan: './lib/sub.yaml', input: {}} # é
nodes:
  a: {use: call}
  b: {type: plan, needs: [a], plan: &x "./lib/sub.yaml", input: {é: 1}, undo: {plan: ./lib/../leaf.yaml}, timeout: 5m}
  c: {type: plan, needs: [b], plan: "${input}", plans: [./leaf.yaml, ./lib/sub.yaml, stored@2]}
  d:
    needs: [c]
    do:
      nodes:
        e:
          type: plan
          plan:
            ./leaf.yaml
  e: {type: plan, needs: [d], plan: *x}
finally:
  f: {type: plan, plan: ./number.json}
`,
		"lib/sub.yaml": "id: sub\nnodes: {a: {type: plan, plan: ../leaf.yaml}}\n",
		"leaf.yaml":    leaf,
		"number.json":  `{"id": "17", "nodes": {"a": {"type": "plan", "plan": "./leaf.yaml"}}}`,
		"unused.yaml":  "nothing",
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	if got := fmt.Sprint(paths); got != "[leaf.yaml lib/sub.yaml number.json main.yaml]" {
		t.Errorf("order: %s", got)
	}
	const want = `# keeps its comments
id: main
templates:
  call: {type: plan, plan: 'sub', input: {}} # é
nodes:
  a: {use: call}
  b: {type: plan, needs: [a], plan: &x "sub", input: {é: 1}, undo: {plan: leaf}, timeout: 5m}
  c: {type: plan, needs: [b], plan: "${input}", plans: [leaf, sub, stored@2]}
  d:
    needs: [c]
    do:
      nodes:
        e:
          type: plan
          plan:
            leaf
  e: {type: plan, needs: [d], plan: *x}
finally:
  f: {type: plan, plan: "17"}
`
	main := files[len(files)-1]
	if string(main.Linked) != want {
		t.Errorf("linked:\n%s", main.Linked)
	}
	if got := string(files[2].Linked); got != `{"id": "17", "nodes": {"a": {"type": "plan", "plan": "leaf"}}}` {
		t.Errorf("linked JSON: %s", got)
	}
}

// Problems of the linked text have the positions of the text as written.
func TestProblemsHavePositionsInTheFile(t *testing.T) {
	t.Parallel()
	src := "id: main\nnodes:\n" +
		"  a: {type: plan, plan: ./leaf.yaml, undo: {plan: './leaf.yaml'}, tpye: x}\n  b: {type: sett, needs: [a]}\n"
	files, _ := link("main.yaml", map[string]string{"main.yaml": src, "leaf.yaml": leaf})
	main := files[1]
	_, found := planner.Parse(main.Linked, planner.WithCatalog(&planner.Catalog{}))
	lines := strings.Split(src, "\n")
	for _, p := range main.Problems(found) {
		if p.Code != "field.unknown" && p.Code != "node.type_unknown" {
			continue
		}
		if at := lines[p.Line-1][p.Column-1:]; !strings.HasPrefix(at, "tpye") && !strings.HasPrefix(at, "sett") || p.File != "main.yaml" {
			t.Errorf("%+v points at %q", p, at)
		}
	}
}

// A trial gives every plan of the files another id.
func TestIDsCanBeRenamed(t *testing.T) {
	t.Parallel()
	files, problems := planfile.Link("main.yaml", planfile.Options{
		Read: func(path string) ([]byte, error) {
			if path == "leaf.yaml" {
				return []byte(leaf), nil
			}
			return []byte("id: m\nnodes: {a: {type: plan, plan: ./leaf.yaml}}\n"), nil
		},
		Name: func(id string) string { return "draft-" + id },
	})
	if len(problems) > 0 || !strings.Contains(string(files[1].Linked), "plan: draft-leaf}") {
		t.Errorf("%v %v", files, problems)
	}
}

// P64: files that name each other, files outside the directory, and files that cannot be sub-plans.
func TestFilesThatCannotBeLinked(t *testing.T) {
	t.Parallel()
	plan := func(id string, names ...string) string {
		src := "id: " + id + "\nnodes:\n"
		for i, name := range names {
			src += fmt.Sprintf("  n%d: {type: plan, plan: %s}\n", i, name)
		}
		return src
	}
	many := map[string]string{"main.yaml": plan("main", "./f0.yaml")}
	for i := range planfile.MaxFiles + 20 {
		many[fmt.Sprintf("f%d.yaml", i)] = plan(fmt.Sprint("f", i), fmt.Sprintf("./f%d.yaml", i+1))
	}
	big := map[string]string{"main.yaml": plan("main")}
	for i := range 5 {
		name := fmt.Sprintf("f%d.yaml", i)
		big["main.yaml"] += fmt.Sprintf("  b%d: {type: plan, plan: ./%s}\n", i, name)
		big[name] = plan(fmt.Sprint("f", i)) + "# " + strings.Repeat("x", 1<<20-100)
	}
	type files = map[string]string
	for name, c := range map[string]struct {
		files files
		want  []string
	}{
		"itself": {files{"main.yaml": plan("main", "./main.yaml")},
			[]string{"the files name each other: main.yaml → main.yaml"}},
		"a chain": {files{"main.yaml": plan("main", "./b/b.yaml"), "b/b.yaml": plan("b", "./c.yaml"), "b/c.yaml": plan("c", "./b.yaml")},
			[]string{"b/c.yaml: line 3, column 26: the files name each other: b/b.yaml → b/c.yaml → b/b.yaml"}},
		"outside": {files{"main.yaml": plan("main", "../x.yaml", "./a/../../x.yaml")},
			[]string{`main.yaml: line 3, column 26: file "../x.yaml" is outside the directory`,
				`main.yaml: line 4, column 26: file "./a/../../x.yaml" is`}},
		"missing": {files{"main.yaml": plan("main", "./x.yaml")}, []string{`file "x.yaml" not found`}},
		"no id": {files{"main.yaml": plan("main", "./x.yaml"), "x.yaml": "nodes: {a: {type: noop}}"},
			[]string{`the plan in "x.yaml" has no id`}},
		"not YAML": {files{"main.yaml": plan("main", "./x.yaml"), "x.yaml": "id: x\nnodes: [\n"},
			[]string{"x.yaml: line 3, column 1: "}},
		"a list": {files{"main.yaml": plan("main", "./x.yaml"), "x.yaml": "[1]"},
			[]string{"x.yaml: line 1, column 1: the document is a list"}},
		"one id": {files{"main.yaml": plan("main", "./x.yaml", "./y.yaml"), "x.yaml": plan("x", "t"), "y.yaml": plan("x", "t")},
			[]string{`"x.yaml" and "y.yaml" have the same id "x"`}},
		"an escape": {files{"main.yaml": plan("main", `"\x2e/x.yaml"`), "x.yaml": leaf},
			[]string{`the name of the file "./x.yaml" cannot be replaced`}},
		"many":  {many, []string{"the plan names more than 100 files"}},
		"large": {big, []string{"the files have more than 4194304 bytes"}},
	} {
		files, problems := link("main.yaml", c.files)
		if len(files) > 0 || len(problems) != len(c.want) {
			t.Errorf("%s: %d files, %v", name, len(files), problems)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(problems[i].String(), want) {
				t.Errorf("%s: %s, want %s", name, problems[i], want)
			}
		}
	}
}

// The problems of the root file are those of its check.
func TestARootFileIsReadAsItIs(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"", "[", "\xff", "nodes: {a: {type: noop}}", "## page\n\n```\nx\n```\n"} {
		files, problems := link("main.yaml", map[string]string{"main.yaml": src})
		if len(files) != 1 || len(problems) > 0 || string(files[0].Linked) != src {
			t.Errorf("%q: %v, %v", src, files, problems)
		}
	}
}

func FuzzLink(f *testing.F) {
	f.Add("id: main\nnodes: {a: {type: plan, plan: ./leaf.yaml}}\n")
	f.Add("id: é\nnodes: {a: {type: plan, plan: &a './leaf.yaml'}, b: {type: plan, plan: *a}}\n")
	f.Add(`{"id": "x", "nodes": {"a": {"plan": "./leaf.yaml", "plans": ["../x", "./main.yaml"]}}}`)
	f.Fuzz(func(t *testing.T, src string) {
		files, _ := link("main.yaml", map[string]string{"main.yaml": src, "leaf.yaml": leaf})
		for _, file := range files {
			_, problems := planner.Parse(file.Linked)
			file.Problems(problems)
		}
	})
}
