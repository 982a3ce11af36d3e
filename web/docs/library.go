package docs

import (
	"bytes"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/kairosd/kairosd/web/kit"
)

// indexPage is the name of the page that lists the others.
const indexPage = "index"

// library renders and searches the Markdown pages of a file system.
type library struct {
	files    fs.FS
	markdown goldmark.Markdown
	passages func() *searchIndex
}

func newLibrary(files fs.FS) *library {
	l := &library{files: files}
	l.markdown = goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(addresses{files}, 100))))
	l.passages = sync.OnceValue(l.read)
	return l
}

// source returns the Markdown of a page.
func (l *library) source(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrNotExist
	}
	return fs.ReadFile(l.files, name+".md")
}

var folderKey = parser.NewContextKey()

// headingIDs generates the IDs of headings in the way of GitHub, so that links work there and here.
// It contains the IDs in use.
type headingIDs map[string]bool

var notInID = regexp.MustCompile(`[^\pL\pN _-]`)

func (ids headingIDs) Generate(heading []byte, _ ast.NodeKind) []byte {
	id := strings.ReplaceAll(notInID.ReplaceAllString(strings.ToLower(string(heading)), ""), " ", "-")
	unique := id
	for n := 1; ids[unique]; n++ {
		unique = id + "-" + strconv.Itoa(n)
	}
	ids[unique] = true
	return []byte(unique)
}

func (ids headingIDs) Put(id []byte) { ids[string(id)] = true }

// parse parses the Markdown of a page, and rewrites its links.
func (l *library) parse(name string, source []byte) ast.Node {
	ctx := parser.NewContext(parser.WithIDs(headingIDs{}))
	ctx.Set(folderKey, path.Dir(name))
	return l.markdown.Parser().Parse(text.NewReader(source), parser.WithContext(ctx))
}

// render returns the title and the HTML of a page.
func (l *library) render(name string) (title, html string, err error) {
	source, err := l.source(name)
	if err != nil {
		return "", "", err
	}
	doc := l.parse(name, source)
	var b bytes.Buffer
	err = l.markdown.Renderer().Render(&b, source, doc)
	html = strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<table>", `<table class="list wrap">`).Replace(b.String())
	return titleOf(doc, source), html, err
}

// titleOf returns the text of the first heading of level 1.
func titleOf(doc ast.Node, source []byte) string {
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 1 {
			return plain(h, source)
		}
	}
	return ""
}

// addresses rewrites links between files to addresses of the dashboard. If the linked file is not
// embedded, it keeps only the text of the link. It drops HTML.
type addresses struct{ files fs.FS }

// Transform implements parser.ASTTransformer.
func (a addresses) Transform(doc *ast.Document, _ text.Reader, ctx parser.Context) {
	folder, _ := ctx.Get(folderKey).(string)
	var gone []ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.HTMLBlock, *ast.RawHTML: // comments for tools
			gone = append(gone, n)
		case *ast.Image:
			n.Destination = []byte("/docs/" + path.Join(folder, string(n.Destination)))
		case *ast.Link:
			to, ok := a.address(folder, string(n.Destination))
			if n.Destination = []byte(to); !ok {
				gone = append(gone, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range gone {
		parent := n.Parent()
		for c := n.FirstChild(); c != nil; c = n.FirstChild() {
			n.RemoveChild(n, c)
			parent.InsertBefore(parent, n, c)
		}
		parent.RemoveChild(parent, n)
	}
}

// address returns the address of a link on a page in folder. ok is false if the target is not
// embedded.
func (a addresses) address(folder, link string) (string, bool) {
	u, err := url.Parse(link)
	if err != nil {
		return "", false
	}
	if u.Scheme != "" || u.Path == "" || strings.HasPrefix(u.Path, "/") {
		return link, true
	}
	file := path.Join(folder, u.Path)
	if _, err := fs.Stat(a.files, file); err != nil {
		return "", false
	}
	to := "/docs/" + strings.TrimSuffix(file, ".md")
	if to == "/docs/"+indexPage {
		to = "/docs"
	}
	if u.Fragment != "" {
		to += "#" + u.Fragment
	}
	return to, true
}

// group is a section of the index with its pages.
type group struct {
	Title string
	Pages []kit.Link
}

// contents returns the sections of the index. current is the name of the page that is shown.
func (l *library) contents(current string) (out []group) {
	source, err := l.source(indexPage)
	if err != nil {
		return nil
	}
	doc := l.parse(indexPage, source)
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				out = append(out, group{Title: plain(n, source)})
			}
		case *ast.Link:
			if to := string(n.Destination); len(out) > 0 && strings.HasPrefix(to, "/docs/") {
				g := &out[len(out)-1]
				g.Pages = append(g.Pages, kit.Link{Text: plain(n, source), Href: to, Current: to == "/docs/"+current})
			}
		}
		return ast.WalkContinue, nil
	})
	return out
}

// plain returns the text of a node without formatting.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch t := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(t.Segment.Value(source))
				if t.SoftLineBreak() || t.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(t.Value)
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				b.Write(n.Lines().Value(source))
			}
		}
		if !entering && n.Type() == ast.TypeBlock || n.Kind().String() == "TableCell" && !entering {
			b.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
