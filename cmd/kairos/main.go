// Command kairos runs plans and looks after them.
package main

import (
	"os"

	"github.com/kairosd/kairosd/internal/cli"
)

func main() { os.Exit(cli.Main(cli.Kairos)) }
