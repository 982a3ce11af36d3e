package web

import (
	"maps"
	"slices"
)

// This file is the one place that turns states, times and sizes into words.

func sorted(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
