//go:build !linux

package daemon

import "github.com/kairosd/kairosd/internal/domain"

// machineClock returns an unknown state outside Linux.
func machineClock() domain.Clock { return domain.Clock{} }
