// Package auth decides who may come in: users with passwords, their sessions,
// API tokens, the one-time setup of a new installation, and the throttling of
// all of them. Secrets are handed out once and stored only as hashes.
package auth
