// Package planfile reads a plan file together with the plan files that its steps name, and replaces each of
// these names with the id of the plan in the file.
package planfile

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
)

// Limits of the files that are read together.
const (
	MaxFiles = 100
	MaxBytes = 4 << 20
)

// File is a plan file.
type File struct {
	Path   string // relative to the directory of the root file, with slashes
	Format planner.Format
	Source []byte // as written
	// Linked is Source with plan ids in place of the names of files. It equals Source if there are none.
	Linked []byte
	// Name is what replaces the name of the file in other files: the id of the plan, unless [Options] change it.
	Name string

	id    string
	text  []byte // Source without a byte order mark
	tree  *source.Tree
	edits []edit
}

// Alone returns a document that names no files.
func Alone(src []byte, f planner.Format) File { return File{Format: f, Source: src, Linked: src} }

// Options configure [Link].
type Options struct {
	// Read returns the content of a file. The error wraps fs.ErrNotExist if there is none.
	Read func(path string) ([]byte, error)
	// Name returns the id that replaces a file with a plan id. Nil keeps the id.
	Name func(id string) string
}

// Link reads a plan file and the files that it names. Each file comes after those that it names, so that root is
// the last one. The contents are not checked, except that a file that another one names has to be a document
// with an id. If there are problems, Link returns no files.
func Link(root string, o Options) ([]File, planner.Problems) {
	if o.Name == nil {
		o.Name = func(id string) string { return id }
	}
	l := &linker{Options: o, files: map[string]*File{}, ids: map[string]string{}}
	l.file(path.Clean(root), nil)
	if len(l.problems) > 0 {
		return nil, l.problems
	}
	return l.ordered, nil
}

type linker struct {
	Options
	files    map[string]*File // by path; nil while the files that it names are read
	ids      map[string]string
	chain    []string // files that are being read, each named by the one before
	ordered  []File
	bytes    int
	problems planner.Problems
}

// reference is a value that names a file.
type reference struct {
	from string // path of the file that contains it
	at   *source.Tree
}

func (l *linker) problem(ref *reference, suggestion message.Message, format string, args ...any) {
	p := planner.Problem{Severity: planner.SeverityError, Code: "plan.file", Message: message.New(format, args...), Suggestion: suggestion}
	if ref != nil {
		p.File, p.Line, p.Column = ref.from, ref.at.Line, ref.at.Column
	}
	l.problems = append(l.problems, p)
}

// file reads a file and those that it names. It returns nil after a problem. ref is nil for the root file.
func (l *linker) file(name string, ref *reference) *File {
	if f, read := l.files[name]; f != nil {
		return f
	} else if read {
		i := slices.Index(l.chain, name)
		if i >= 0 {
			l.problem(ref, message.New("remove one of these references, or write the id of the plan"), "the files name each other: %s",
				strings.Join(append(slices.Clone(l.chain[i:]), name), " → "))
		}
		return nil // reported
	}
	l.files[name] = nil
	if len(l.files) > MaxFiles {
		if len(l.files) == MaxFiles+1 {
			l.problem(ref, message.New("store some of the plans first, and write their ids"), "the plan names more than %d files", MaxFiles)
		}
		return nil
	}
	src, err := l.Read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.problem(ref, message.New("write the path relative to this file, or write the id of a stored plan"), "file %s not found",
			jsonvalue.Quote(name))
		return nil
	case err != nil:
		l.problem(ref, message.Message{}, "file %s cannot be read: %s", jsonvalue.Quote(name), err)
		return nil
	}
	if l.bytes += len(src); l.bytes > MaxBytes {
		l.problem(ref, message.New("store some of the plans first, and write their ids"), "the files have more than %d bytes", MaxBytes)
		return nil
	}
	f := &File{Path: name, Format: planner.FormatOf(name, src), Source: src, Linked: src}
	if !f.parse() || ref != nil && f.id == "" {
		if ref == nil { // the check of the document reports its problems
			l.ordered = append(l.ordered, *f)
			return f
		}
		l.unusable(f, ref)
		return nil
	}
	if other, twice := l.ids[f.id]; twice && f.id != "" {
		l.problem(ref, message.New("give each plan its own id"), "%s and %s have the same id %s", jsonvalue.Quote(other),
			jsonvalue.Quote(name), jsonvalue.Quote(f.id))
		return nil
	}
	l.ids[f.id], f.Name = name, l.Options.Name(f.id)
	l.chain = append(l.chain, name)
	l.link(f)
	l.chain = l.chain[:len(l.chain)-1]
	l.files[name] = f
	l.ordered = append(l.ordered, *f)
	return f
}

// unusable reports a file that cannot be a sub-plan.
func (l *linker) unusable(f *File, ref *reference) {
	_, problems := planner.Parse(f.Source, planner.WithFormat(f.Format))
	if problems.Err() == nil {
		l.problem(ref, message.New("add id: to it"), "the plan in %s has no id", jsonvalue.Quote(f.Path))
		return
	}
	for _, p := range problems {
		p.File = f.Path
		l.problems = append(l.problems, p)
	}
}

// parse reads the document of a file, and reports whether it is an object.
func (f *File) parse() bool {
	quiet := &source.Quiet{}
	text, ok := source.CheckText(f.Source, quiet)
	if !ok {
		return false
	}
	f.text, f.tree = text, parse(text, f.Format, quiet)
	if f.tree == nil || quiet.Failed || f.tree.Kind != source.Map {
		return false
	}
	if id := f.tree.Get("id"); id != nil && id.Kind == source.String {
		f.id = id.Text
	}
	return true
}

func parse(text []byte, f planner.Format, r source.Reporter) *source.Tree {
	if f == planner.FormatJSON {
		return source.ParseJSON(text, r)
	}
	return source.ParseYAML(text, r)
}

// link reads the files that a file names, and replaces their names.
func (l *linker) link(f *File) {
	names := planNames(f.tree)
	want := make([]string, len(names))
	done := map[[2]int]string{} // positions, because an alias occurs more than once
	failed := false
	for i, v := range names {
		want[i] = v.Text
		if !isFile(v.Text) {
			continue
		}
		position := [2]int{v.Line, v.Column}
		if id, known := done[position]; known {
			want[i] = id
			continue
		}
		id, ok := l.target(f, v)
		if !ok {
			failed = true
			continue
		}
		done[position], want[i] = id, id
		if !f.replace(v, id) {
			l.unreplaced(f, v)
			return
		}
	}
	if failed || len(done) == 0 {
		return
	}
	f.apply()
	quiet := &source.Quiet{}
	after := parse(f.Linked, f.Format, quiet)
	if after == nil || quiet.Failed {
		l.unreplaced(f, names[0])
		return
	}
	got := planNames(after)
	for i, v := range names {
		if i >= len(got) || got[i].Text != want[i] {
			l.unreplaced(f, v)
			return
		}
	}
}

func (l *linker) unreplaced(f *File, v *source.Tree) {
	l.problem(&reference{f.Path, v}, message.New("write it on one line, without escapes"), "the name of the file %s cannot be replaced",
		jsonvalue.Quote(v.Text))
}

// target returns the id of the plan in a file that another one names.
func (l *linker) target(f *File, v *source.Tree) (id string, ok bool) {
	ref := &reference{f.Path, v}
	name := path.Join(path.Dir(f.Path), v.Text)
	if name == ".." || strings.HasPrefix(name, "../") {
		l.problem(ref, message.New("move the file, or write the id of a stored plan"),
			"file %s is outside the directory of the first plan file", jsonvalue.Quote(v.Text))
		return "", false
	}
	other := l.file(name, ref)
	if other == nil {
		return "", false
	}
	return other.Name, true
}

// isFile reports whether the name of a plan is that of a file.
func isFile(name string) bool { return planner.IsFileName(name) && !strings.Contains(name, "${") }

// planNames returns all values of a document that name plans, in a fixed order.
func planNames(t *source.Tree) (out []*source.Tree) {
	add := func(v *source.Tree) {
		if v != nil && v.Kind == source.String {
			out = append(out, v)
		}
	}
	for _, key := range []string{"templates", "nodes", "finally"} {
		steps := t.Get(key)
		if steps == nil || steps.Kind != source.Map {
			continue
		}
		for _, step := range steps.Items {
			if step.Kind != source.Map {
				continue
			}
			add(step.Get("plan"))
			if list := step.Get("plans"); list != nil {
				for _, v := range list.Items {
					add(v)
				}
			}
			if undo := step.Get("undo"); undo != nil && undo.Kind == source.Map {
				add(undo.Get("plan"))
			}
			if block := step.Get("do"); block != nil && block.Kind == source.Map {
				out = append(out, planNames(block)...)
			}
		}
	}
	return out
}
