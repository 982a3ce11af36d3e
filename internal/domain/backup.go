package domain

import "time"

// Backup is the manifest of a backup. It is written last: a backup exists when
// its manifest does, and then it has been opened and verified.
type Backup struct {
	Format  int       `json:"format"` // of the manifest: 2
	Created time.Time `json:"createdAt"`
	// Instance is a fingerprint of the server, the same in all its backups;
	// Generation names the life of the database that was copied.
	Instance   string `json:"instance"`
	Generation string `json:"incarnation"`
	Schema     int64  `json:"schema"`
	Kairosd    string `json:"kairosd"`
	// AuditSeq and AuditMac are the head of the audit chain.
	AuditSeq int64            `json:"auditSeq"`
	AuditMac string           `json:"auditMac"`
	Rows     map[string]int64 `json:"rows"` // by table
	Bytes    int64            `json:"bytes"`
	SHA256   string           `json:"sha256"`
	Verified []Check          `json:"verified"`
	// Encryption is there if the file is encrypted; Bytes and SHA256 are then of the
	// encrypted file.
	Encryption *Encryption `json:"encryption,omitempty"`

	// Key is the fingerprint of the key file of the server that made the backup; MAC
	// authenticates everything else here with it. Empty: it had lost its key file.
	Key string `json:"key"`
	MAC string `json:"mac"`

	// Path is the database file; it is not part of the manifest.
	Path string `json:"-"`
}

// Encryption of a backup: to whom, and what is inside.
type Encryption struct {
	// Recipients are public keys of age; any of their identities decrypts the file.
	Recipients []string `json:"recipients"`
	Bytes      int64    `json:"bytes"` // of the database
	SHA256     string   `json:"sha256"`
}

// Check is what one check found.
type Check struct {
	Name     string   `json:"name"`
	Checked  int64    `json:"examined"`
	Problems []string `json:"problems"`
	// Found is what is worth knowing and no problem.
	Found []string `json:"found,omitempty"`
	// Runs are those that the problems are about, as far as they are known.
	Runs []string `json:"runs,omitempty"`
	// Advice states what to do about the problems.
	Advice string `json:"advice,omitempty"`
}
