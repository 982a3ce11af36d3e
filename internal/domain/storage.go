package domain

import "time"

// Storage is how much room the database takes, in bytes.
type Storage struct {
	Database int64 `json:"database"` // the file, free pages included
	Unused   int64 `json:"unused"`   // free pages in it, which new rows take first
	WAL      int64 `json:"wal"`
	Free     int64 `json:"free"` // on its disk
	Disk     int64 `json:"disk"` // size of its disk
	// Needs is how many bytes must be free until work is stored again, because the disk
	// is full; 0: it is not.
	Needs int64 `json:"needs,omitzero"`
	// MovedAt is when the write-ahead log was last moved into the database; zero:
	// not since the start.
	MovedAt time.Time `json:"movedAt,omitzero"`
}

const gib = 1 << 30

// NearlyFull reports whether the disk should be looked after: less than a twentieth of
// it or 5 GiB is free, whichever is less, or less than a fifth of the database.
func (s Storage) NearlyFull() bool {
	return s.Disk > 0 && (s.Free < min(s.Disk/20, 5*gib) || s.Free < s.Database/5)
}

// Full reports whether the disk is as good as full: less than a hundredth of it or
// 1 GiB is free, whichever is less. The store refuses new work later, when there is
// no space.
func (s Storage) Full() bool { return s.Disk > 0 && s.Free < min(s.Disk/100, gib) }
