package query

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// MemoryReader reads the memory of sessions, and the measurements of skills.
type MemoryReader struct{ db *core.DB }

// Recollect returns the memory of a session for a text: its last exchanges, and the earlier ones
// that share the most words with the text. Each part has at most limit exchanges, in order of time.
func (s *MemoryReader) Recollect(ctx context.Context, owner, session, text string, limit int) ([]domain.Memory, error) {
	scope := core.ScopeOf(owner, session)
	latest, err := s.db.Q.MemoryLatest(ctx, scope, math.MaxInt64, int64(limit))
	if err != nil {
		return nil, core.Translate(err, "read memory")
	}
	found := map[int64]domain.Memory{}
	for _, r := range latest {
		found[r.ID] = domain.Memory{
			Owner:   r.Owner,
			Session: r.Session,
			Run:     r.Run,
			Input:   r.Input,
			Output:  r.Output,
			At:      core.FromMicros(r.At),
		}
	}
	if len(latest) == limit { // there may be more
		ids, err := s.memoryMatches(ctx, scope, text, 2*limit)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if _, ok := found[id]; ok || len(found) == 2*limit {
				continue
			}
			r, err := s.db.Q.MemoryByID(ctx, id)
			if errors.Is(err, sql.ErrNoRows) {
				continue // deleted by retention in the meantime
			} else if err != nil {
				return nil, core.Translate(err, "read memory")
			}
			found[id] = domain.Memory{
				Owner:   r.Owner,
				Session: r.Session,
				Run:     r.Run,
				Input:   r.Input,
				Output:  r.Output,
				At:      core.FromMicros(r.At),
			}
		}
	}
	ids := make([]int64, 0, len(found))
	for id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	out := make([]domain.Memory, len(ids))
	for i, id := range ids {
		out[i] = found[id]
	}
	return out, nil
}

// memoryMatches finds a scope's rows by words, best first.
func (s *MemoryReader) memoryMatches(ctx context.Context, scope, text string, limit int) (ids []int64, err error) {
	words := memoryWords(text)
	if len(words) == 0 {
		return nil, nil
	}
	// Every word is quoted, so that FTS5 reads no operators in it.
	match := `scope : "` + scope + `" AND {input output} : ("` + strings.Join(words, `" OR "`) + `")`
	rows, err := s.db.Read.QueryContext(
		ctx,
		"SELECT rowid FROM memory_words WHERE memory_words MATCH ?1 ORDER BY rank LIMIT ?2",
		match,
		limit,
	)
	if err != nil {
		return nil, core.Translate(err, "search memory")
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, core.Translate(err, "search memory")
		}
		ids = append(ids, id)
	}
	return ids, core.Translate(rows.Err(), "search memory")
}

// maxMemoryWords is the maximum number of words in a search.
const maxMemoryWords = 32

// memoryWords returns the distinct words of a text with three letters or more.
func memoryWords(text string) []string {
	var out []string
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len([]rune(w)) >= 3 && !slices.Contains(out, w) {
			if out = append(out, w); len(out) == maxMemoryWords {
				break
			}
		}
	}
	return out
}

// MemorySessions lists the sessions of an owner that have a memory, by name.
func (s *MemoryReader) MemorySessions(ctx context.Context, owner string, p domain.Page) (domain.List[domain.MemorySession], error) {
	var list domain.List[domain.MemorySession]
	limit := core.PageLimit(p.Limit)
	for after := p.After; ; {
		name, err := s.db.Q.MemorySessionAfter(ctx, owner, after)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return list, nil
		case err != nil:
			return list, core.Translate(err, "list sessions")
		case len(list.Items) == limit:
			list.Next = after
			return list, nil
		}
		after = name
		item := domain.MemorySession{Session: name}
		if item.Exchanges, err = s.db.Q.MemoryCount(ctx, core.ScopeOf(owner, name)); err != nil {
			return list, core.Translate(err, "count what a session remembers")
		}
		last, err := s.db.Q.MemoryLatest(ctx, core.ScopeOf(owner, name), math.MaxInt64, 1)
		if err != nil {
			return list, core.Translate(err, "read memory")
		}
		if len(last) > 0 {
			item.LastAt = core.FromMicros(last[0].At)
		}
		list.Items = append(list.Items, item)
	}
}

// Memories lists the exchanges that a session of an owner remembers, newest first.
func (s *MemoryReader) Memories(ctx context.Context, owner, session string, p domain.Page) (domain.List[domain.Memory], error) {
	var list domain.List[domain.Memory]
	limit, before := core.PageLimit(p.Limit), int64(math.MaxInt64)
	if p.After != "" {
		var err error
		if before, err = core.OpenCursor("memory", p.After); err != nil {
			return list, err
		}
	}
	rows, err := s.db.Q.MemoryLatest(ctx, core.ScopeOf(owner, session), before, int64(limit)+1)
	if err != nil {
		return list, core.Translate(err, "read memory")
	}
	for i, r := range rows {
		if i == limit {
			list.Next = core.Cursor("memory", rows[i-1].ID)
			break
		}
		list.Items = append(
			list.Items,
			domain.Memory{Owner: r.Owner, Session: r.Session, Run: r.Run, Input: r.Input, Output: r.Output, At: core.FromMicros(r.At)},
		)
	}
	return list, nil
}

// SkillMedians returns the median time and tokens of skills, by the tool or agent that the skill is
// now bound to.
func (s *MemoryReader) SkillMedians(ctx context.Context, skill, bound string) (domain.SkillMedians, error) {
	rows, err := s.db.Q.SkillRunList(ctx, skill, bound)
	if err != nil {
		return domain.SkillMedians{}, core.Translate(err, "read runs of skill "+skill)
	}
	ms, tokens := make([]int64, len(rows)), make([]int64, len(rows))
	for i, r := range rows {
		ms[i], tokens[i] = r.Ms, r.Tokens
	}
	return domain.SkillMedians{Runs: len(rows), Time: time.Duration(median(ms)) * time.Millisecond, Tokens: median(tokens)}, nil
}

// median returns the middle value, or the mean of the two middle values. It returns 0 for an empty
// list.
func median(list []int64) int64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	mid := len(list) / 2
	if len(list)%2 == 1 {
		return list[mid]
	}
	return list[mid-1] + (list[mid]-list[mid-1])/2
}
