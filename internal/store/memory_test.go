package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
)

// addMemory ends a run with a request and an answer in a session.
func addMemory(t *testing.T, s *Store, hash, owner, session, in, out string) domain.Run {
	t.Helper()
	now := time.Now()
	run, _, err := s.CreateRun(t.Context(), domain.NewRun{Hash: hash, Actor: owner, Origin: "api", Session: session})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Commit(t.Context(), domain.Checkpoint{Run: run.ID, Entries: []domain.Entry{{Kind: domain.EntryAction, Item: -1, At: now}},
		Patch: &domain.RunPatch{
			Status: domain.RunCompleted,
		}, Memory: &domain.Memory{Owner: owner, Session: session, Input: in, Output: out, At: now}})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func inputsOf(list []domain.Memory) (out []string) {
	for _, m := range list {
		out = append(out, m.Input)
	}
	return out
}

// Memory belongs to an owner and a session. It returns the last exchanges, and earlier ones with
// the same words, regardless of case and accents. The search ignores FTS5 operators in a question.
func TestMemory(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	v := putVersion(t, s, "p", strings.Repeat("a", 64))
	first := addMemory(t, s, v.Hash, "ana", "s1", "My dog is called Ñandú", "Noted.")
	for i := range 6 {
		addMemory(t, s, v.Hash, "ana", "s1", fmt.Sprintf("question %d", i), "answer")
	}
	addMemory(t, s, v.Hash, "ana", "s2", "another session: the dog is called Rex", "-")
	addMemory(t, s, v.Hash, "eve", "s1", "another owner: the dog is called Max", "-")

	for _, tc := range []struct {
		text string
		want []string
	}{
		{"what is the DOG called?", []string{"My dog is called Ñandú", "question 4", "question 5"}},
		{"where is nandu", []string{"My dog is called Ñandú", "question 4", "question 5"}},
		{`" OR scope:* NEAR( -x`, []string{"question 4", "question 5"}},
		{"", []string{"question 4", "question 5"}},
	} {
		got, err := s.Recollect(t.Context(), "ana", "s1", tc.text, 2)
		if err != nil {
			t.Fatalf("%q: %v", tc.text, err)
		}
		if d := cmp.Diff(tc.want, inputsOf(got)); d != "" {
			t.Errorf("%q: %s", tc.text, d)
		}
	}
	for _, other := range [][2]string{{"ana", "s3"}, {"bob", "s1"}, {"ana\x00s1", ""}, {"", "ana\x00s1"}} {
		if got, err := s.Recollect(t.Context(), other[0], other[1], "dog", 5); err != nil || len(got) != 0 {
			t.Errorf("%q knows %v %v", other, inputsOf(got), err)
		}
	}

	// Retention deletes the memory of a run and its index entries.
	if err := s.PurgeRun(t.Context(), first.ID, domain.Actor{Name: "t"}, "old"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Recollect(t.Context(), "ana", "s1", "dog", 2); err != nil || len(got) != 2 {
		t.Errorf("after the purge: %v %v", inputsOf(got), err)
	}
	sessions, err := s.MemorySessions(t.Context(), "ana", domain.Page{Limit: 1})
	if err != nil || len(sessions.Items) != 1 || sessions.Items[0].Session != "s1" || sessions.Items[0].Exchanges != 6 ||
		sessions.Items[0].LastAt.IsZero() ||
		sessions.Next == "" {
		t.Errorf("%+v %v", sessions, err)
	}
	if more, err := s.MemorySessions(t.Context(), "ana", domain.Page{Limit: 1, After: sessions.Next}); err != nil || len(more.Items) != 1 ||
		more.Items[0].Session != "s2" ||
		more.Next != "" {
		t.Errorf("%+v %v", more, err)
	}
	page, err := s.Memories(t.Context(), "ana", "s1", domain.Page{Limit: 4})
	if err != nil || len(page.Items) != 4 || page.Items[0].Input != "question 5" || page.Next == "" {
		t.Errorf("%+v %v", page, err)
	}
	if rest, err := s.Memories(t.Context(), "ana", "s1", domain.Page{Limit: 4, After: page.Next}); err != nil || len(rest.Items) != 2 ||
		rest.Items[1].Input != "question 0" ||
		rest.Next != "" {
		t.Errorf("%+v %v", rest, err)
	}
	if n, err := clearMemory(s, "ana", "s1", "she asked for it"); err != nil || n != 6 {
		t.Errorf("forgot %d: %v", n, err)
	}
	if n, err := clearMemory(s, "ana", "s1", ""); n != 0 || err != nil {
		t.Errorf("forgot %d again: %v", n, err)
	}
	if list, err := s.AuditEvents(t.Context(), domain.AuditFilter{Action: "memory.forget"}); err != nil || len(list.Items) != 1 ||
		list.Items[0].Object != "memory:ana/s1" ||
		string(list.Items[0].Detail) != `{"exchanges":6}` {
		t.Errorf("%+v %v", list.Items, err)
	}
	if got, err := s.Recollect(t.Context(), "eve", "s1", "dog", 2); err != nil || len(got) != 1 {
		t.Errorf("of another owner: %v %v", inputsOf(got), err)
	}
	checks, err := Examine(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if len(c.Problems) > 0 {
			t.Errorf("%s: %v", c.Name, c.Problems)
		}
	}
}

// Long texts are cut between characters.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	v := putVersion(t, s, "p", strings.Repeat("a", 64))
	addMemory(t, s, v.Hash, "ana", "s", strings.Repeat("ñ", domain.MaxMemory), "bad \xff byte")
	got, err := s.Recollect(t.Context(), "ana", "s", "", 1)
	if err != nil || len(got) != 1 {
		t.Fatalf("%v %v", got, err)
	}
	if m := got[0]; len(m.Input) > domain.MaxMemory+len("…") || !strings.HasSuffix(m.Input, "ñ…") || m.Output != "bad \uFFFD byte" {
		t.Errorf("%d bytes, %q", len(m.Input), m.Output)
	}
}

// Messages are stored once with their checkpoint. Long payloads are shared with the journal, and
// are deleted with the run's other values.
func TestMessages(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	v := putVersion(t, s, "p", strings.Repeat("a", 64))
	run, _, err := s.CreateRun(t.Context(), domain.NewRun{Hash: v.Hash, Actor: "t", Origin: "api"})
	if err != nil {
		t.Fatal(err)
	}
	long := domain.RawJSON(`"` + strings.Repeat("y", 9000) + `"`)
	now := time.Now().Truncate(time.Microsecond).UTC()
	sent := []domain.AgentMessage{
		{ID: "1", From: "a", To: "b", Type: domain.MessageRequest, Payload: long, Seq: 1, Node: "n", Visit: 1, Item: -1,
			Metadata: domain.MessageMetadata{
				Timestamp:     now,
				Priority:      "high",
				TTL:           500,
				RetryCount:    2,
				RequiresAck:   true,
				IsPlanContext: true,
				StepID:        "n",
			}},
		{
			ID:            "2",
			CorrelationID: "1",
			From:          "b",
			To:            "a",
			Type:          domain.MessageAck,
			Seq:           1,
			Node:          "n",
			Visit:         1,
			Item:          -1,
			Metadata:      domain.MessageMetadata{Timestamp: now, Priority: "high"},
		},
	}
	for fence := range int64(2) { // the second checkpoint adds nothing
		if err := s.Commit(t.Context(), domain.Checkpoint{Run: run.ID, Fence: fence, Messages: sent,
			Entries: []domain.Entry{{Kind: domain.EntryIntent, Node: "n", Visit: 1, Item: -1, At: now, Input: long}}}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Messages(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	sent[0].Metadata.Acknowledged = true
	if d := cmp.Diff(sent, got); d != "" {
		t.Error(d)
	}
	if other, err := s.Messages(t.Context(), domain.NewID()); err != nil || len(other) != 0 {
		t.Errorf("of no run: %v %v", other, err)
	}
}

// clearMemory deletes the memory of a session like the application does.
func clearMemory(s *Store, owner, session, reason string) (n int64, err error) {
	_, _, err = s.Do(
		Operation{Name: "forget-memory", Action: "memory.forget", By: domain.Actor{Name: owner}},
		func(tx *Tx) (string, error) {
			var err error
			n, err = tx.Forget(owner, session)
			if n > 0 {
				tx.Audit("memory:"+owner+"/"+session, reason, domain.RawJSON(fmt.Sprintf(`{"exchanges":%d}`, n)))
			}
			return "", err
		},
	)
	return n, err
}
