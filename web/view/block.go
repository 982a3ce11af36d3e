package view

// Block is a titled piece of text or JSON.
type Block struct {
	ID    string
	Title string
	Text  string
	JSON  *Node
	Raw   string // address of the whole
	// CopyURL is from where the whole is copied; empty: what is shown is copied.
	CopyURL string
	More    []Link // to more of it
	Diff    []DiffLine
	// Says explains it in words; Folded ones open on demand.
	Says   string
	Folded bool
	Note   string
}

// Node is a value in the JSON viewer.
type Node struct {
	Key      string
	Path     string // leads to it: .vendor.lines[3]
	Kind     string // object, list, string, number, word
	Text     string
	Count    string
	Children []Node
	More     string
	Open     bool
}
