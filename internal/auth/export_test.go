package auth

var (
	NewTokenText = newTokenText
	HashOf       = hashOf
)
