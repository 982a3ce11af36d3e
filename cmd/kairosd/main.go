// Command kairosd stores plans, runs them durably, and serves the dashboard.
package main

import (
	"fmt"
	"os"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/kairosd"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

func main() {
	if err := failpoint.ArmFromEnv(); err != nil {
		fmt.Fprintln(os.Stderr, "kairosd:", err)
		os.Exit(64)
	}
	os.Exit(cli.Main(kairosd.Run))
}
