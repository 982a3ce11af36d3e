// Command scorecard adds up what the proofs counted and prints one line.
//
// It runs after all of them passed: a gate is then the statement that in so many
// cases not one was otherwise.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: scorecard FIGURES")
		os.Exit(2)
	}
	line, err := card(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "scorecard:", err)
		os.Exit(1)
	}
	fmt.Println(line)
}

// gates are what must be exactly zero, and the figures that say in how many
// cases it was.
var gates = []struct {
	name    string
	figures []string
}{
	{"acknowledged work lost", []string{"crash points", "disk states", "faults"}},
	{"silent corruption", []string{"log cuts", "bit flips"}},
	{"effect violations", []string{"crash points"}},
	{"unexplained stuck runs", []string{"crash points", "random plans"}},
	{"undetected tampering", []string{"audit attacks"}},
	{"seeded bugs missed", []string{"seeded bugs caught"}},
}

func card(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, count, ok := strings.Cut(lines.Text(), "\t")
		n, err := strconv.Atoi(count)
		if !ok || err != nil {
			return "", fmt.Errorf("%s: %q is no figure", path, lines.Text())
		}
		sum[name] += n
	}
	held := 0
	for _, g := range gates {
		ok := true
		for _, figure := range g.figures {
			ok = ok && sum[figure] > 0
		}
		if g.name == "seeded bugs missed" {
			ok = ok && sum["seeded bugs caught"] == sum["seeded bugs"]
		}
		if ok {
			held++
		}
	}
	parts := []string{fmt.Sprintf("gates %d/%d", held, len(gates))}
	for _, name := range []string{"crash points", "disk states", "faults", "log cuts", "bit flips", "audit attacks", "environment faults", "random plans"} {
		parts = append(parts, fmt.Sprintf("%s %d", name, sum[name]))
	}
	for _, of := range [][2]string{{"seeded bugs caught", "seeded bugs"}, {"bad inputs", "bad inputs known"}} {
		parts = append(parts, fmt.Sprintf("%s %d/%d", of[0], sum[of[0]], sum[of[1]]))
	}
	return strings.Join(parts, " | "), nil
}
