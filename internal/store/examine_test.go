package store_test

import (
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

func init() { store.Examine, store.Diagnose = recovery.Verify, recovery.Doctor }
