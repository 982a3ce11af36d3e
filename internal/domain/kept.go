package domain

// KeptDigests are what is left of a run when retention has removed its journal and
// values: SHA-256 digests in the audit log, hex. Who has kept a copy can prove by
// them that it is the one.
type KeptDigests struct {
	// Created is of the settings that the run was created with, its input among them;
	// empty: not kept.
	Created string
	Rows    []KeptDigest // in the order of the rows
}

// KeptDigest is the digest of the hashes of journal rows that were one checkpoint.
type KeptDigest struct {
	Event       int64 // of the audit log
	First, Last int64 // rows
	Digest      string
}

// Of finds the digest that a journal row is under.
func (k KeptDigests) Of(row int64) (KeptDigest, bool) {
	for _, d := range k.Rows {
		if d.First <= row && row <= d.Last {
			return d, true
		}
	}
	return KeptDigest{}, false
}
