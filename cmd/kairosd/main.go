// Command kairosd stores plans, runs them durably and serves the dashboard.
package main

import (
	"os"

	"github.com/kairosd/kairosd/internal/cli"
)

func main() { os.Exit(cli.Main(cli.Kairosd)) }
