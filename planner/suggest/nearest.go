// Package suggest finds the word that a misspelled word probably means.
package suggest

import "strings"

// Nearest returns the candidate that is closest to word, or "" if none is close. It does not search
// long words and long lists, because a suggestion is not worth quadratic time.
func Nearest(word string, candidates []string) string {
	if len(word) > 64 || len(candidates) > 5000 || word == "" {
		return ""
	}
	best, bestDistance := "", len(word)/3+1
	for _, c := range candidates {
		if c == word || len(c) > 64 {
			continue
		}
		if strings.EqualFold(c, word) {
			return c
		}
		d := editDistance(word, c, bestDistance)
		if d > max(1, len(word)/3) && commonPrefix(word, c) == 0 { // stderr is not a misspelled order
			continue
		}
		if d < bestDistance || d == bestDistance && (best == "" || commonPrefix(word, c) > commonPrefix(word, best)) {
			best, bestDistance = c, d
		}
	}
	if best != "" {
		return best
	}
	for _, c := range candidates { // max for max_attempts, input_schema for input
		if strings.HasPrefix(c, word+"_") || strings.HasPrefix(word, c+"_") {
			return c
		}
	}
	return ""
}

// commonPrefix decides between candidates with the same distance.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// editDistance counts insertions, deletions, substitutions, and swaps of adjacent letters. It
// returns limit+1 as soon as the distance must exceed limit.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
