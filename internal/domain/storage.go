package domain

import "time"

// Storage is the disk space of the database, in bytes.
type Storage struct {
	Database int64 `json:"database"` // the file, including free pages
	Unused   int64 `json:"unused"`   // free pages in the file, which new rows use first
	WAL      int64 `json:"wal"`
	Free     int64 `json:"free"` // on its disk
	Disk     int64 `json:"disk"` // size of its disk
	// Needs is the number of bytes that must become free before work is accepted again. It is 0
	// unless the disk is full.
	Needs int64 `json:"needs,omitzero"`
	// MovedAt is the time of the last checkpoint of the write-ahead log, or zero if there was none
	// since the start.
	MovedAt time.Time `json:"movedAt,omitzero"`
}

const gib = 1 << 30

// NearlyFull reports whether less than 5 % of the disk or 5 GiB is free, whichever is less, or less
// space than 20 % of the database.
func (s Storage) NearlyFull() bool {
	return s.Disk > 0 && (s.Free < min(s.Disk/20, 5*gib) || s.Free < s.Database/5)
}

// Full reports whether less than 1 % of the disk or 1 GiB is free, whichever is less. The store
// rejects new work later, when no space is left.
func (s Storage) Full() bool { return s.Disk > 0 && s.Free < min(s.Disk/100, gib) }
