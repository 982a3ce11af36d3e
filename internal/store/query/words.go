package query

import (
	"slices"
	"strings"
	"unicode"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// wordsIn splits a text into words in the same way as the index.
func wordsIn(text string) []string {
	words := strings.FieldsFunc(strings.ReplaceAll(text, "\x00", " "), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	return words[:min(len(words), core.MaxWords)]
}

// match returns an FTS5 query for the words of a text, in order. The last word may be a prefix. If
// the text has no words, it returns "". Every word is quoted, so that FTS5 reads no operators in
// it.
func match(text string) string {
	words := wordsIn(text)
	if len(words) == 0 {
		return ""
	}
	return `"` + strings.Join(words, " ") + `" *`
}

// unended are the statuses of runs whose status messages are not in the index.
var unended = []domain.RunStatus{domain.RunRunning, domain.RunWaiting}

// inIndexSQL is true if the index contains the words for this run.
const inIndexSQL = "EXISTS (SELECT 1 FROM run_words WHERE run_words MATCH ? AND run_words.rowid = runs.id)"

// headlineSQL returns a condition that searches status messages without the index.
func headlineSQL(text string) (string, []any) {
	words := wordsIn(text)
	if len(words) == 0 {
		words = []string{text}
	}
	clauses := make([]string, len(words))
	for i := range words {
		clauses[i] = "instr(lower(runs.headline), lower(?)) > 0"
	}
	return strings.Join(clauses, " AND "), values(words)
}

// headlineMatchSQL returns the condition that the status message of a run contains the words of a
// text. A text without words is searched literally.
func headlineMatchSQL(text string) (string, []any) {
	inHeadline, args := headlineSQL(text)
	m := match(text)
	if m == "" {
		return inHeadline, args
	}
	return "(" + inIndexSQL + " OR runs.status IN ('running', 'waiting') AND " + inHeadline + ")", append([]any{m}, args...)
}

// wordArms returns an arm for the index of words, and arms for the runs that are not in it.
func wordArms(text string, statuses []domain.RunStatus) []arm {
	m := match(text)
	arms := []arm{
		{
			from:  "run_words AS f",
			join:  " CROSS JOIN runs ON runs.id = f.rowid",
			where: "f.run_words MATCH ?",
			args:  []any{m},
			id:    "f.rowid",
		},
	}
	inHeadline, args := headlineSQL(text)
	for _, st := range unended {
		if len(statuses) > 0 && !slices.Contains(statuses, st) {
			continue
		}
		arms = append(
			arms,
			arm{from: "runs INDEXED BY runs_by_status", where: "runs.deleted_at = 0 AND runs.status = ?", args: []any{string(st)},
				also: " AND " + inHeadline + " AND NOT " + inIndexSQL, alsoArgs: append(slices.Clone(args), m)},
		)
	}
	return arms
}
