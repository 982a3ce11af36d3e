//go:build !linux

package tool

// groupUsage is not available on this system, so only time and output are limited.
func groupUsage(int) usage { return usage{} }
