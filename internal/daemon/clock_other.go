//go:build !linux

package daemon

import "github.com/kairosd/kairosd/internal/domain"

// machineClock is unknown outside Linux.
func machineClock() domain.Clock { return domain.Clock{} }
