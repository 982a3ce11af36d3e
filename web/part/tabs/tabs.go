// Package tabs renders links between related pages of different sections.
package tabs
