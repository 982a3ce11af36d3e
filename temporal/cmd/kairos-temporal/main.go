// Command kairos-temporal runs plans on Temporal.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/temporal/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command.New(os.Stdout, os.Stderr).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "kairos-temporal:", err)
		if e, ok := errors.AsType[*domain.Error](err); ok && e.Suggestion != "" {
			fmt.Fprintln(os.Stderr, e.Suggestion)
		}
		stop()
		os.Exit(1)
	}
}
