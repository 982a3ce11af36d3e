//go:build !linux

package cli

import "github.com/kairosd/kairosd/internal/kairos"

// machineClock is not known here.
func machineClock() kairos.Clock { return kairos.Clock{} }
