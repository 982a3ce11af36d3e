// Package value shows JSON values of any size on pages: trees with a limited number of lines,
// previews of long texts, downloads, and diffs of two values.
package value

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// treeBytes is the maximum size of a value that is shown as a tree.
	treeBytes = 1 << 20
	// treeLines, treeString, and previewChildren limit the lines of a tree, the bytes of a text,
	// and the elements of a list or object.
	treeLines       = 200
	treeString      = 2 << 10
	previewChildren = 100
	// PreviewBytes is the size of the preview of a larger value.
	PreviewBytes = 8 << 10
	// CopyBytes is the maximum size of a value that can be copied or compared.
	CopyBytes = 1 << 20
)

// Reading selects a part of a value, and a text to search for.
type Reading struct {
	Lang *locale.Language
	Find string
	Into string // path of the part, or empty for the whole value
	Nth  int    // index of the first child to show
	Href func(url.Values) string
}

// Block shows a JSON value as a tree or a preview. raw is the address of its download.
func Block(l *locale.Language, id, title string, j domain.RawJSON, raw string) kit.Block {
	return Reading{Lang: l}.Block(id, title, j, raw)
}

// Block is like the function [Block], for a part of the value or a search.
func (o Reading) Block(id, title string, j domain.RawJSON, raw string) kit.Block {
	b := kit.Block{ID: id, Title: title, Raw: raw}
	if j == nil {
		b.Text, b.Raw = "—", ""
		return b
	}
	b.Title = fmt.Sprintf("%s · %s · JSON", title, ui.SizeIn(o.Lang, len(j)))
	if raw != "" && len(j) <= CopyBytes {
		b.CopyURL = raw
	}
	if len(j) > treeBytes && j[0] != '"' {
		return Text(b, string(j))
	}
	v, err := jsonvalue.Decode(j)
	if err != nil {
		return Text(b, string(j))
	}
	if s, ok := v.(string); ok {
		b.Title = fmt.Sprintf("%s · %s", title, ui.SizeIn(o.Lang, len(j)))
		if kind, ok := packedText(o.Lang, s); ok {
			b.Text = kind
			return b
		}
		return Text(b, s)
	}
	t := tree{lines: treeLines, Reading: o}
	if raw != "" && len(j) <= CopyBytes {
		b.Values = raw
	}
	part, ok := v, false
	if o.Into != "" {
		part, ok = At(v, o.Into)
	}
	n := kit.Node{}
	if ok {
		b.Into = kit.Escape(kit.Truncate(o.Into, 200))
		n = t.node("", o.Into, part, 0)
	} else {
		t.Nth = 0
		n = t.node("", "", v, 0)
	}
	b.JSON, b.Lines, b.Addresses = &n, treeLines-t.lines, addressesOf(n)
	if b.Found = t.found; t.cut && o.Find == "" {
		b.Note = locale.Mark("Not all of it is shown.")
	}
	return b
}

// At returns the part of a value at a path such as .vendor.lines[3].
func At(v any, path string) (any, bool) {
	for path != "" {
		if m := pathKey.FindStringSubmatch(path); m != nil {
			o, ok := v.(map[string]any)
			if !ok {
				return nil, false
			}
			if v, ok = o[m[1]]; !ok {
				return nil, false
			}
			path = path[len(m[0]):]
			continue
		}
		quoted, err := strconv.QuotedPrefix(strings.TrimPrefix(path, "["))
		if path[0] == '[' && err == nil && strings.HasPrefix(path[1+len(quoted):], "]") {
			key, err := strconv.Unquote(quoted)
			o, ok := v.(map[string]any)
			if err != nil || !ok {
				return nil, false
			}
			if v, ok = o[key]; !ok {
				return nil, false
			}
			path = path[len(quoted)+2:]
			continue
		}
		m := pathIndex.FindStringSubmatch(path)
		l, ok := v.([]any)
		if m == nil || !ok {
			return nil, false
		}
		i, err := strconv.Atoi(m[1])
		if err != nil || i >= len(l) {
			return nil, false
		}
		v, path = l[i], path[len(m[0]):]
	}
	return v, true
}

var (
	pathKey   = regexp.MustCompile(`^\.([A-Za-z_][A-Za-z0-9_]*)`)
	pathIndex = regexp.MustCompile(`^\[([0-9]+)\]`)
)

// Text sets the text of a block, shortened to PreviewBytes.
func Text(b kit.Block, s string) kit.Block {
	short := kit.Truncate(s, PreviewBytes)
	b.Text = kit.Escape(short)
	b.Addresses = Addresses(b.Text)
	if short != s {
		b.Note = locale.Mark("Only its beginning is shown.")
	}
	return b
}

// packedText detects data URIs and base64, and describes them.
func packedText(l *locale.Language, s string) (kind string, ok bool) {
	if len(s) < 256 {
		return "", false
	}
	if m := dataURI.FindStringSubmatch(s[:min(len(s), 100)]); m != nil {
		return fmt.Sprintf("%s, %s", m[1], ui.SizeIn(l, (len(s)-len(m[0]))*3/4)), true
	}
	if len(s)%4 == 0 && base64Text.MatchString(s[:256]) && base64Text.MatchString(strings.TrimRight(s[len(s)-256:], "=")) &&
		!strings.ContainsAny(s, " \n{") &&
		mixed(s[:256]) {
		return "base64, " + ui.SizeIn(l, len(s)*3/4), true
	}
	return "", false
}

var (
	dataURI    = regexp.MustCompile(`^data:([a-z]+/[a-z0-9.+-]+)(?:;[a-z0-9=-]+)*;base64,`)
	base64Text = regexp.MustCompile(`^[A-Za-z0-9+/_-]+$`)
)

// mixed reports whether s has digits and letters of both cases, which distinguishes base64 from a
// long word.
func mixed(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") &&
		strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz")
}

// tree builds the nodes of a value, up to a number of lines.
type tree struct {
	Reading
	lines int
	cut   bool
	found int // number of matches of Find
}

// Tree returns a value that kairosd itself produced as a tree.
func Tree(l *locale.Language, v any) kit.Node {
	t := tree{lines: treeLines, Reading: Reading{Lang: l}}
	return t.node("", "", v, 0)
}

// hit reports whether a text contains the search text.
func (o Reading) hit(text string) bool {
	return o.Find != "" && strings.Contains(strings.ToLower(text), strings.ToLower(o.Find))
}

// holds reports whether a key, or anything in its value, contains the search text.
func (o Reading) holds(key string, v any) bool {
	if o.hit(key) {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if o.holds(k, e) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return o.holds("", e) })
	case string:
		return o.hit(v)
	}
	return o.hit(jsonvalue.Text(v))
}

// child is an element of a list or object.
type child struct {
	key, path string
	value     any
}

func (t *tree) node(key, path string, v any, depth int) kit.Node {
	t.lines--
	n := kit.Node{Key: kit.Escape(kit.Truncate(key, 100)), Path: kit.Escape(kit.Truncate(path, 300)), Open: depth < 2}
	if path != "" && strings.HasSuffix(path, `"]`) { // quotes separate the key from the text around the path
		n.Key = kit.Escape(strconv.Quote(kit.Truncate(key, 100)))
	}
	if path != "" && len(path) <= maxPath {
		n.At = path
	}
	if n.Hit = key != "" && t.hit(key); n.Hit {
		t.found++
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			n.Kind, n.Text = "w", "{}"
			break
		}
		n.Kind, n.Count = "object", fmt.Sprintf("{ %d }", len(v))
		keys := slices.Sorted(maps.Keys(v))
		t.children(&n, path, depth, len(keys), func(i int) child { return child{keys[i], path + pathStep(keys[i]), v[keys[i]]} })
	case []any:
		if len(v) == 0 {
			n.Kind, n.Text = "w", "[]"
			break
		}
		n.Kind, n.Count = "list", fmt.Sprintf("[ %d ]", len(v))
		t.children(&n, path, depth, len(v), func(i int) child { return child{strconv.Itoa(i), path + "[" + strconv.Itoa(i) + "]", v[i]} })
	case string:
		n.Kind = "s"
		if kind, ok := packedText(t.Lang, v); ok {
			n.Kind, n.Text = "w", kind
			break
		}
		short := kit.Truncate(v, treeString)
		if t.lines -= len(strings.Split(short, "\n")) - 1 + len(short)/100; short != v {
			t.cut = true
			n.More = ui.SizeIn(t.Lang, len(v))
		}
		if n.Text = kit.Escape(strconv.Quote(short)); strings.Contains(v, "\n") {
			n.Kind, n.Text = "s t", kit.Escape(short)
		}
	case json.Number:
		n.Kind, n.Text = "n", string(v)
	default:
		n.Kind, n.Text = "w", jsonvalue.Text(v)
	}
	if n.Text != "" && t.hit(scalar(v)) {
		n.Hit = true
		t.found++
	}
	return n
}

// maxPath is the maximum length of a path to a part of a value.
const maxPath = 500

func scalar(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return jsonvalue.Text(v)
}

// children adds the visible children. If there are too many, it adds a link to the next block. In a
// search, it adds the children with matches, expanded.
func (t *tree) children(n *kit.Node, path string, depth, count int, nth func(int) child) {
	from := 0
	if depth == 0 && t.Nth > 0 && t.Nth < count {
		from = t.Nth
	}
	shown, passed := 0, 0
	for i := from; i < count; i++ {
		c := nth(i)
		if t.Find != "" && !t.hit(n.Key) && !t.holds(numberless(n.Kind, c.key), c.value) {
			passed++
			continue
		}
		if shown == previewChildren || t.lines <= 0 {
			n.More = fmt.Sprintf("… +%d", count-i)
			if t.cut = true; t.Href != nil && len(path) <= maxPath {
				n.Next = t.Href(url.Values{"into": {path}, "nth": {strconv.Itoa(i)}})
			}
			break
		}
		shown++
		n.Children = append(n.Children, t.node(c.key, c.path, c.value, depth+1))
	}
	if passed > 0 && n.More == "" {
		n.More = fmt.Sprintf("… +%d", passed)
	}
	if from > 0 && t.Href != nil {
		n.Previous = t.Href(url.Values{"into": {path}, "nth": {strconv.Itoa(max(from-previewChildren, 0))}})
	}
	if t.Find != "" {
		n.Open = shown > 0
	}
}

// numberless returns the key for a search, or an empty string for an index of a list.
func numberless(kind, key string) string {
	if kind == "list" {
		return ""
	}
	return key
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// pathStep returns a key as a segment of a path.
func pathStep(key string) string {
	if plainKey.MatchString(key) {
		return "." + key
	}
	return "[" + strconv.Quote(key) + "]"
}

// Pretty returns a value as indented JSON, or unchanged if it is not JSON.
func Pretty(j domain.RawJSON) string {
	var v any
	if json.Unmarshal(j, &v) != nil {
		return string(j)
	}
	if decoded, err := jsonvalue.Decode(j); err == nil { // keeps the exact numbers
		v = decoded
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(j)
	}
	return string(b)
}
