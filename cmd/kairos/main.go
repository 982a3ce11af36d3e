// Command kairos runs and manages plans.
package main

import (
	"os"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/kairos"
)

func main() { os.Exit(cli.Main(kairos.Run)) }
