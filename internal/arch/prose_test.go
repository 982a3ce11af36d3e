package arch

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Sentences are short enough to read once, and lines to review.
const (
	longestSentence = 35
	medianSentence  = 13
	longestLine     = 140
	longestRow      = 200 // of a table, so that it fits a terminal and the dashboard
)

// banned are words and constructions that make readers guess, with what to write instead.
var banned = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\b(whoever|somebody|nobody)\b`), "you, anyone, no one, or the role"},
	{regexp.MustCompile(`(?i)\banew\b`), "again"},
	{regexp.MustCompile(`(?i)\b(mend|mends|mended|mending)\b`), "fix"},
	{regexp.MustCompile(`(?i)\b(takes?|took|taken) (note of|up|into use)\b`), "acknowledge, apply, or accept"},
	{regexp.MustCompile(`(?i)\b(puts?|set|sets) aside\b`), "quarantine or move"},
	{regexp.MustCompile(`(?i)\bgo(es)? on\b|\bwent on\b`), "continue or resume"},
	{
		regexp.MustCompile(
			`(?i)\b(kairosd?|it|page|command|preview|message|error|log|test|file) (says|tells|knows|believes|asks|answers)\b`,
		),
		"print, show, return, or require: software does not speak",
	},
	{regexp.MustCompile(`(?i)\bis (told|asked|believed)\b`), "name who does what"},
	{regexp.MustCompile(`(?i)\b(it|that|this|which|code) is no [a-z]+\b`), "is not a"},
	{regexp.MustCompile(`(?i)\bby itself\b`), "automatically"},
	{
		regexp.MustCompile(`(?i)\b(of late|so many|as it comes|in force|behind the back|under way)\b`),
		"a number, a unit, or: active, in progress",
	},
	{regexp.MustCompile(`(?i)\b(tries of|one try|each try)\b`), "attempt"},
	{regexp.MustCompile(`(?i)\bacts? on many\b|\bbulk acts?\b`), "bulk operation"},
	{regexp.MustCompile(`(?i)\b(unclean death|dies again|the daemon dies|kairosd dies|kairosd died)\b`), "crash"},
	{regexp.MustCompile(`(?i)\bthe installation\b`), "the server"},
}

// prose is the text of a page without code, tags, and addresses, one block a line.
func prose(page string) []string {
	page = regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(page, "\n")
	page = regexp.MustCompile(`(?s)<!--.*?-->`).ReplaceAllString(page, "\n")
	page = regexp.MustCompile("``[^`]+``|`[^`]*`").ReplaceAllString(page, "code")
	page = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(page, "$1")
	page = regexp.MustCompile(`(?m)^\[[^\]]+\]: .*$`).ReplaceAllString(page, "")
	var blocks []string
	block := ""
	end := func() {
		if b := strings.TrimSpace(block); b != "" {
			blocks = append(blocks, b)
		}
		block = ""
	}
	item := regexp.MustCompile(`^\s*(?:[-*]|\d+\.) `)
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line == "---":
			end()
		case strings.HasPrefix(line, "#"):
			end()
		case strings.HasPrefix(line, "|"):
			end()
			if !strings.HasPrefix(strings.TrimLeft(line, "| "), "---") {
				for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
					block = cell
					end()
				}
			}
		case item.MatchString(line):
			end()
			block = item.ReplaceAllString(line, "")
		default:
			block += " " + strings.TrimPrefix(line, "> ")
		}
	}
	end()
	return blocks
}

var sentenceEnd = regexp.MustCompile(`[.!?…]["')*_]*(?:\s+|$)`)

// sentences splits a block where a sentence ends: a period before a capital, a figure, or the end.
func sentences(block string) (out []string) {
	block = regexp.MustCompile(`\b(?:e\.g|i\.e|etc)\.`).ReplaceAllString(block, "eg")
	from := 0
	for _, m := range sentenceEnd.FindAllStringIndex(block, -1) {
		out = append(out, strings.TrimSpace(block[from:m[1]]))
		from = m[1]
	}
	if rest := strings.TrimSpace(block[from:]); rest != "" {
		out = append(out, rest)
	}
	return out
}

// Every page is plain English: short sentences, common words, and an actor.
func TestPagesAreWrittenPlainly(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	pages := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			rel, _ := filepath.Rel(root, path)
			pages = append(pages, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range plainly(string(text)) {
			t.Errorf("%s: %s", page, fault)
		}
	}
}

// plainly lists what breaks the rules in a page.
func plainly(page string) (faults []string) {
	page = regexp.MustCompile(`(?s)<!-- commands:.*<!-- end of commands -->`).
		ReplaceAllString(page, "")
		// help of commands has its own test
	code := false
	n := 0
	for line := range strings.Lines(page) {
		n++
		line = strings.TrimSuffix(line, "\n")
		code = code != strings.HasPrefix(strings.TrimSpace(line), "```")
		longest := longestLine
		if strings.HasPrefix(line, "|") {
			longest = longestRow
		}
		if !code && len([]rune(line)) > longest {
			faults = append(faults, line[:60]+"…: the line is too long")
		}
	}
	var lengths []int
	for _, block := range prose(page) {
		for _, s := range sentences(block) {
			words := len(strings.Fields(s))
			if words > 2 {
				lengths = append(lengths, words)
			}
			if words > longestSentence {
				faults = append(faults, s+": the sentence has too many words")
			}
		}
		for _, b := range banned {
			if word := b.pattern.FindString(block); word != "" {
				faults = append(faults, word+" ("+block+"): write "+b.instead)
			}
		}
	}
	slices.Sort(lengths)
	if len(lengths) >= 8 && lengths[len(lengths)/2] > medianSentence {
		faults = append(faults, fmt.Sprintf("half of the sentences have more than %d words", medianSentence))
	}
	return faults
}

// The rules see what they are for.
func TestPlainProseIsRecognized(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]int{
		"# A title\n\nkairosd retries the step. You can stop it.\n":       0,
		"Whoever keeps it may mend it.\n":                                 2,
		"The page says why.\n":                                            1,
		"`whoever` is code, and so is\n\n```sh\nkairosd says\n```\n":      0,
		strings.Repeat("it ", 36) + ".\n":                                 1,
		"Short one.\n\n" + strings.Repeat("x", 141) + "\n":                1,
		"| " + strings.Repeat("word. ", 32) + " |\n":                      0,
		"| " + strings.Repeat("word. ", 33) + " |\n":                      1,
		strings.Repeat("- "+strings.Repeat("w ", 18)+"\n", 8):             1,
		"- one item\n- another item that is long\n\nIt runs. It stops.\n": 0,
	} {
		if faults := plainly(page); len(faults) != want {
			t.Errorf("%q: %d faults, want %d: %v", page, len(faults), want, faults)
		}
	}
}
