package core

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// StepRow is a journal row before it is written.
type StepRow = dbsqlc.StepResult

// RowHash returns the SHA-256 of all fields, each with its length. NULL differs from an empty text.
func RowHash(runID string, p *StepRow) []byte {
	b := make([]byte, 0, 1024)
	text := func(s string) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	nullable := func(s *string) {
		if s == nil {
			b = append(b, 0)
			return
		}
		b = append(b, 1)
		text(*s)
	}
	text(runID)
	for _, n := range []int64{p.Seq, p.Visit, p.Item, p.Attempt, p.Substep, p.Final, p.InputTokens, p.OutputTokens,
		int64(math.Float64bits(p.Cost)), p.DueAt, p.StartedAt, p.At} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	for _, s := range []string{p.Kind, p.Node, p.Status, p.Effect} {
		text(s)
	}
	for _, s := range []*string{p.IdemKey, p.Input, p.Output, p.Decision, p.Failure, p.Agent, p.Ref, p.Actor, p.Reason, p.Log} {
		nullable(s)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// StepColumns are the columns that StepOf reads, in order.
var StepColumns = []string{
	"run_id",
	"seq",
	"kind",
	"node",
	"visit",
	"item",
	"attempt",
	"substep",
	"status",
	"final",
	"effect",
	"idem_key",
	"input",
	"output",
	"decision",
	"failure",
	"input_tokens",
	"output_tokens",
	"cost",
	"agent",
	"due_at",
	"ref",
	"actor",
	"reason",
	"log",
	"started_at",
	"at",
	"audit_seq",
	"hash",
}

// StepOf reads a row with StepColumns.
func StepOf(f *Fields) StepRow {
	return StepRow{
		RunID:        f.Int(),
		Seq:          f.Int(),
		Kind:         f.Text(),
		Node:         f.Text(),
		Visit:        f.Int(),
		Item:         f.Int(),
		Attempt:      f.Int(),
		Substep:      f.Int(),
		Status:       f.Text(),
		Final:        f.Int(),
		Effect:       f.Text(),
		IdemKey:      f.TextOrNull(),
		Input:        f.TextOrNull(),
		Output:       f.TextOrNull(),
		Decision:     f.TextOrNull(),
		Failure:      f.TextOrNull(),
		InputTokens:  f.Int(),
		OutputTokens: f.Int(),
		Cost:         f.float(),
		Agent:        f.TextOrNull(),
		DueAt:        f.Int(),
		Ref:          f.TextOrNull(),
		Actor:        f.TextOrNull(),
		Reason:       f.TextOrNull(),
		Log:          f.TextOrNull(),
		StartedAt:    f.Int(),
		At:           f.Int(),
		AuditSeq:     f.Int(),
		Hash:         f.Blob(),
	}
}
