package domain

import "time"

// Backup is the manifest of a backup. kairosd writes it last, after it has opened and verified the
// copy. A copy without a manifest is not a backup.
type Backup struct {
	Format  int       `json:"format"` // version of the manifest format: 2
	Created time.Time `json:"createdAt"`
	// Instance is the fingerprint of the server, which is the same in all its backups. Generation
	// identifies the generation of the copied database.
	Instance   string `json:"instance"`
	Generation string `json:"generation"`
	Schema     int64  `json:"schema"`
	Kairosd    string `json:"kairosd"`
	// AuditSeq and AuditMac are the head of the audit chain.
	AuditSeq int64            `json:"auditSeq"`
	AuditMac string           `json:"auditMac"`
	Rows     map[string]int64 `json:"rows"` // by table
	Bytes    int64            `json:"bytes"`
	SHA256   string           `json:"sha256"`
	Verified []Check          `json:"verified"`
	// Encryption is set if the file is encrypted. Bytes and SHA256 then refer to the encrypted
	// file.
	Encryption *Encryption `json:"encryption,omitempty"`

	// Key is the fingerprint of the server's key file, and MAC authenticates all other fields with
	// it. Key is empty if the server had lost its key file.
	Key string `json:"key"`
	MAC string `json:"mac"`

	// Path is the path of the database file. It is not part of the manifest.
	Path string `json:"-"`
}

// Encryption describes the encryption of a backup and the plain database.
type Encryption struct {
	// Recipients are age public keys. The identity of any of them decrypts the file.
	Recipients []string `json:"recipients"`
	Bytes      int64    `json:"bytes"` // of the plain database
	SHA256     string   `json:"sha256"`
}

// Check is the result of one check of a backup or database.
type Check struct {
	Name     string   `json:"name"`
	Checked  int64    `json:"examined"`
	Problems []string `json:"problems"`
	// Found holds remarks that are not problems.
	Found []string `json:"found,omitempty"`
	// Runs holds the IDs of the affected runs, as far as they are known.
	Runs []string `json:"runs,omitempty"`
	// Advice describes how to solve the problems.
	Advice string `json:"advice,omitempty"`
}
