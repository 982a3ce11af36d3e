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
