package view

// Block is a titled piece of text or JSON.
type Block struct {
	ID    string
	Title string
	Text  string
	JSON  *Node
	Raw   string // address of the whole
	Note  string
}

// Node is a value in the JSON viewer.
type Node struct {
	Key      string
	Kind     string // object, list, string, number, word
	Text     string
	Count    string
	Children []Node
	More     string
	Open     bool
}
