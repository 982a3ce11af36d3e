package view

// ArchivePage asks before a plan is archived or taken back.
type ArchivePage struct {
	Shell
	Heading, Says, Post, Back, Idem, Error string
	Archived                               bool
}
