package domain

// RetainedDigests are the SHA-256 digests that remain in the audit log after retention has deleted the
// journal and the values of a run. They prove that a copy of them is authentic.
type RetainedDigests struct {
	// Created is the digest of the settings of the run, including its input. It is empty if it was
	// not kept.
	Created string
	Rows    []RetainedDigest // in journal order
}

// RetainedDigest is the digest of the hashes of the journal rows of one checkpoint.
type RetainedDigest struct {
	Event       int64 // the audit event
	First, Last int64 // journal rows
	Digest      string
}

// Of returns the digest that covers a journal row.
func (k RetainedDigests) Of(row int64) (RetainedDigest, bool) {
	for _, d := range k.Rows {
		if d.First <= row && row <= d.Last {
			return d, true
		}
	}
	return RetainedDigest{}, false
}
