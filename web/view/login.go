package view

// LoginPage asks for name and password, or sets up the first user.
type LoginPage struct {
	Shell
	Setup bool
	Token string
	Next  string
	Name  string
	Error string
}
