package kit

// Block is a titled piece of text or JSON.
type Block struct {
	ID    string
	Title string
	Text  string
	JSON  *Node
	Raw   string // address of the full value
	// CopyURL is the address that the copy button fetches the full value from. If it is empty, the
	// button copies the displayed text.
	CopyURL string
	More    []Link // links to related values
	Diff    []DiffLine
	// Explanation describes the text in plain words. A Folded block is collapsed at first and shows
	// Brief as its summary.
	Explanation string
	Folded      bool
	Brief       string
	Note        string
	// Values is the address that returns a part of the value by path, for copying. Into is the path
	// of the displayed part, and Found the number of search hits.
	Values string
	Into   string
	Found  int
	Lines  int // number of lines of the rendered tree
	// Addresses are the URLs in the text. They can be copied but are not links, because the text is
	// untrusted.
	Addresses []string
}

// Node is a value in the JSON viewer.
type Node struct {
	Key        string
	Path       string // path from the root, such as .vendor.lines[3]
	Kind       string // object, list, string, number, or word
	Text       string
	Count      string
	Children   []Node
	More       string
	Open       bool
	Hit        bool   // matches the search
	Previously string // value in the compared run; empty if equal
	At         string // path for copying and following; empty if unavailable
	Next       string // address of the next block of children
	Previous   string
}

// FindForm searches the values of a page.
type FindForm struct {
	Action string
	Kept   []Field
	Find   string
	Hits   string // number of matches, as a text
	Clear  string // address without the search
}
