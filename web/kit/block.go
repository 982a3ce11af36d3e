package kit

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
	// Explanation explains it in words; Folded ones open on demand, and show Brief meanwhile.
	Explanation string
	Folded      bool
	Brief       string
	Note        string
	// Values is from where parts of the value are copied, by path; Into the path of
	// the part that is shown, Found how often what is looked for is in it.
	Values string
	Into   string
	Found  int
	Lines  int // that a tree takes
	// Addresses are those in its text: nothing of it is a link, they are copied.
	Addresses []string
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
	Hit      bool   // it is what was looked for
	Was      string // what it was in the run that it is compared with; empty: the same
	At       string // its path, if it can be followed
	Next     string // address of the next block of children
	Previous string
}

// FindForm looks for a text in the values of a page.
type FindForm struct {
	Action string
	Kept   []Field
	Find   string
	Hits   string // how often it was found
	Clear  string // address without it
}
