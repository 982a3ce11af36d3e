// Package tabs leads between pages that belong together though they are in different
// sections.
package tabs
