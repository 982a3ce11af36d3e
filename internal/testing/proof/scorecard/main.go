// Command scorecard adds up the counts of the proofs and prints one line with the commit and the
// seed. With -doc, it also writes the line into a document, between the marks of a card.
//
// A gate holds if each of its proofs passed and counted something. It means that not one of the
// counted cases failed.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func main() {
	of := flag.String("of", "", "title of the card: commit, seed, day")
	doc := flag.String("doc", "", "a document that shows the card")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: scorecard [-of TEXT] [-doc FILE] FIGURES")
		os.Exit(2)
	}
	line, open, err := card(flag.Arg(0))
	if err == nil && *of != "" {
		line = *of + " | " + line
	}
	if err == nil && *doc != "" {
		err = show(*doc, line)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scorecard:", err)
		os.Exit(1)
	}
	fmt.Println(line)
	if len(open) > 0 {
		fmt.Fprintln(os.Stderr, "gates that do not hold:", strings.Join(open, ", "))
		os.Exit(1)
	}
}

// The marks that enclose the card in a document.
const cardBegins, cardEnds = "<!-- card: make soak CARD=1 -->\n", "<!-- end of card -->"

// show writes a card into a document, one figure per line.
func show(path, line string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(text), cardBegins)
	_, after, ends := strings.Cut(rest, cardEnds)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for a card", path)
	}
	shown := "```text excerpt\n" + strings.ReplaceAll(line, " | ", "\n") + "\n```\n"
	return os.WriteFile(path, []byte(before+cardBegins+shown+cardEnds+after), 0o644)
}

// gate is a number that must be exactly zero.
type gate struct {
	name    string
	proofs  []string // targets of the Makefile that must have passed
	figures []string // figures that count its cases
}

var gates = []gate{
	{
		"acknowledged work lost",
		[]string{"store", "crashes", "simulation"},
		[]string{"crash points", "disk states", "faults", "simulation seeds"},
	},
	{"silent corruption", []string{"store"}, []string{"log cuts", "bit flips"}},
	{"effect violations", []string{"crashes", "simulation", "random plans"}, []string{"crash points", "simulation seeds"}},
	{"unauthorized", []string{"access"}, []string{"access: pages by who asks and how", "access: API routes by who asks and how"}},
	{"undetected tampering", []string{"store"}, []string{"audit attacks"}},
	{"crashes on input", []string{"tests", "bad inputs", "fuzz"}, []string{"bad inputs", "fuzzed inputs"}},
	{
		"unexplained stuck runs",
		[]string{"crashes", "simulation", "random plans"},
		[]string{"crash points", "random plans", "simulation seeds"},
	},
	{"seeded bugs missed", []string{"seeded bugs"}, []string{"seeded bugs caught"}},
}

// failed is the prefix of a figure that reports a failed proof.
const failed = "failed: "

func card(path string) (line string, open []string, err error) {
	sum, err := read(path)
	if err != nil {
		return "", nil, err
	}
	for _, g := range gates {
		ok := g.name != "seeded bugs missed" || sum["seeded bugs caught"] == sum["seeded bugs"]
		for _, p := range g.proofs {
			ok = ok && sum[failed+p] == 0
		}
		for _, f := range g.figures {
			ok = ok && sum[f] > 0
		}
		if !ok {
			open = append(open, g.name)
		}
	}
	parts := []string{fmt.Sprintf("gates %d/%d", len(gates)-len(open), len(gates))}
	for _, f := range []struct{ shown, name string }{{"crash points", "crash points"}, {"disk states", "disk states"},
		{"faults", "faults"}, {"log cuts", "log cuts"},
		{"bit flips", "bit flips"}, {"audit attacks", "audit attacks"}, {"environment faults", "environment faults"},
		{"simulation seeds", "simulation seeds"}, {"virtual hours", "virtual hours"}, {"random plans", "random plans"},
		{"upgrade paths", "upgrade paths"}, {"fuzz targets", "fuzz targets"}} {
		parts = append(parts, fmt.Sprintf("%s %d", f.shown, sum[f.name]))
	}
	parts = append(parts,
		fmt.Sprintf("access cells %d", sum["access: pages by who asks and how"]+sum["access: API routes by who asks and how"]),
		fmt.Sprintf("bad inputs %d/%d", sum["bad inputs"], sum["bad inputs known"]),
		fmt.Sprintf("fuzzed inputs %d", sum["fuzzed inputs"]),
		fmt.Sprintf("load %d/s p99 %.1f ms", sum["load checkpoints per second"], float64(sum["load p99 microseconds"])/1000),
		fmt.Sprintf("seeded bugs caught %d/%d", sum["seeded bugs caught"], sum["seeded bugs"]))
	return strings.Join(parts, " | "), open, nil
}

// read sums the lines of a file. Each consists of a name, a tab, and a number.
func read(path string) (map[string]int, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := map[string]int{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, count, ok := strings.Cut(lines.Text(), "\t")
		n, err := strconv.Atoi(count)
		if !ok || err != nil {
			return nil, fmt.Errorf("%s: %q is not a number", path, lines.Text())
		}
		sum[name] += n
	}
	return sum, lines.Err()
}
