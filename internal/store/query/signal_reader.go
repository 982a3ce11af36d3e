package query

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/store/internal/incoming"
)

// SignalReader reads signals and the waits for them.
type SignalReader struct{ db *core.DB }

// maxMatches is how many of the waits that a signal ended are read.
const maxMatches = 100

// Signal finds a signal with the waits that it ended, at most 100. It returns CodeNotFound.
func (s *SignalReader) Signal(ctx context.Context, id string) (domain.Signal, error) {
	r, err := s.db.Q.SignalGet(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Signal{}, domain.Errorf(domain.CodeNotFound, "signal %q not found", id)
	} else if err != nil {
		return domain.Signal{}, core.Translate(err, "read a signal")
	}
	out := incoming.Signal(r, s.db.Now())
	return out, s.matches(ctx, r.ID, &out)
}

func (s *SignalReader) matches(ctx context.Context, row int64, out *domain.Signal) error {
	list, err := s.db.Q.SignalMatches(ctx, row, maxMatches)
	if err != nil {
		return core.Translate(err, "read a signal")
	}
	for _, m := range list {
		out.Matches = append(out.Matches, domain.SignalMatch{Run: m.Run, Node: m.Node, Visit: int(m.Visit), Item: int(m.Item),
			At: core.FromMicros(m.At)})
	}
	if out.All && len(list) > 0 { // it ended waits, even if it may end more
		out.Status = domain.SignalMatched
	}
	return nil
}

// Signals lists signals, newest first.
func (s *SignalReader) Signals(ctx context.Context, f domain.SignalFilter) (domain.List[domain.Signal], error) {
	var list domain.List[domain.Signal]
	before := int64(math.MaxInt64)
	if f.Page.After != "" {
		var err error
		if before, err = strconv.ParseInt(f.Page.After, 10, 64); err != nil {
			return list, core.BadCursor()
		}
	}
	limit := core.PageLimit(f.Page.Limit)
	rows, err := s.db.Q.SignalList(ctx, dbsqlc.SignalListParams{Before: before, Text: f.Text, Status: string(f.Status),
		Now: core.Micros(s.db.Now()), Max: int64(limit) + 1})
	if err != nil {
		return list, core.Translate(err, "list signals")
	}
	for i, r := range rows {
		if i == limit {
			list.Next = strconv.FormatInt(rows[i-1].ID, 10)
			break
		}
		out := incoming.Signal(r, s.db.Now())
		if err := s.matches(ctx, r.ID, &out); err != nil {
			return list, err
		}
		list.Items = append(list.Items, out)
	}
	return list, nil
}

// MatchableNames lists the names and keys for which a signal and a wait are stored.
func (s *SignalReader) MatchableNames(ctx context.Context) ([]domain.Signal, error) {
	rows, err := s.db.Q.SignalNamesMatchable(ctx, core.Micros(s.db.Now()))
	out := make([]domain.Signal, len(rows))
	for i, r := range rows {
		out[i] = domain.Signal{Name: r.Name, Key: r.Key}
	}
	return out, core.Translate(err, "read signals")
}

// Matched lists the waits whose signals are on their way.
func (s *SignalReader) Matched(ctx context.Context) ([]domain.SignalWait, error) {
	rows, err := s.db.Q.WaitsMatched(ctx)
	waits := make([]domain.SignalWait, len(rows))
	for i, r := range rows {
		waits[i] = domain.SignalWait{ID: r.ID, Run: r.Run, Name: r.Name, Key: r.Key, Node: r.Node, Visit: int(r.Visit), Item: int(r.Item),
			Signal: r.Signal}
	}
	return waits, core.Translate(err, "read waits for signals")
}

// Matchable lists the oldest signals with a name and a key that may end a wait, without their data, and
// the oldest waits for them.
func (s *SignalReader) Matchable(ctx context.Context, name, key string, limit int) ([]domain.Signal, []domain.SignalWait, error) {
	rows, err := s.db.Q.WaitMatchable(ctx, name, key, int64(limit))
	if err != nil || len(rows) == 0 {
		return nil, nil, core.Translate(err, "read waits for signals")
	}
	waits := make([]domain.SignalWait, len(rows))
	for i, r := range rows {
		waits[i] = domain.SignalWait{ID: r.ID, Run: r.Run, Name: name, Key: key, Node: r.Node, Visit: int(r.Visit), Item: int(r.Item),
			Since: core.FromMicros(r.Since), Due: core.FromMicros(r.DueAt)}
	}
	found, err := s.db.Q.SignalMatchable(ctx, dbsqlc.SignalMatchableParams{Name: name, Key: key, Now: core.Micros(s.db.Now()),
		Max: int64(limit)})
	signals := make([]domain.Signal, len(found))
	for i, r := range found {
		signals[i] = domain.Signal{ID: r.PublicID, Name: name, Key: key, All: r.Deliver == "all"}
	}
	return signals, waits, core.Translate(err, "read signals")
}

// waitCursor is a position in the list of waits.
type waitCursor struct {
	Name, Key, ID string
	Since         int64
}

// SignalWaits lists the waits of steps for signals, by name, key, and time.
func (s *SignalReader) SignalWaits(ctx context.Context, f domain.WaitFilter) (domain.List[domain.SignalWait], error) {
	var list domain.List[domain.SignalWait]
	var at waitCursor
	if f.Page.After != "" {
		if err := json.Unmarshal([]byte(f.Page.After), &at); err != nil {
			return list, core.BadCursor()
		}
	}
	limit := core.PageLimit(f.Page.Limit)
	rows, err := s.db.Q.WaitList(ctx, dbsqlc.WaitListParams{Name: at.Name, Key: at.Key, Since: at.Since, ID: at.ID, Text: f.Text,
		Max: int64(limit) + 1})
	if err != nil {
		return list, core.Translate(err, "list waits")
	}
	for i, r := range rows {
		if i == limit {
			last := rows[i-1]
			list.Next = core.EncodeJSON(waitCursor{last.Name, last.Key, last.ID, last.Since})
			break
		}
		list.Items = append(list.Items, domain.SignalWait{ID: r.ID, Run: r.Run, Plan: r.PlanKey, Name: r.Name, Key: r.Key, Node: r.Node,
			Visit: int(r.Visit), Item: int(r.Item), Since: core.FromMicros(r.Since), Due: core.FromMicros(r.DueAt)})
	}
	return list, nil
}

// Delivered reports whether a signal for all has ended a wait of the same step before.
func (s *SignalReader) Delivered(ctx context.Context, signal string, w domain.SignalWait) (bool, error) {
	r, err := s.db.Q.SignalGet(ctx, signal)
	if err != nil {
		return true, core.Translate(err, "read a signal")
	}
	n, err := s.db.Q.SignalMatched(ctx, dbsqlc.SignalMatchedParams{SignalID: r.ID, Run: w.Run, Node: w.Node, Item: int64(w.Item)})
	return n > 0, core.Translate(err, "read a signal")
}

// Hook finds a hook by key or ID. It returns CodeNotFound.
func (s *SignalReader) Hook(ctx context.Context, idOrKey string) (domain.Hook, error) {
	return incoming.HookNamed(ctx, s.db.Q, idOrKey)
}

// Hooks lists hooks by key.
func (s *SignalReader) Hooks(ctx context.Context, f domain.HookFilter) (domain.List[domain.Hook], error) {
	var list domain.List[domain.Hook]
	limit := core.PageLimit(f.Page.Limit)
	rows, err := s.db.Q.HookList(ctx, f.Page.After, f.Text, int64(limit)+1)
	if err != nil {
		return list, core.Translate(err, "list hooks")
	}
	for i, r := range rows {
		if i == limit {
			list.Next = rows[i-1].Hook.Key
			break
		}
		h := incoming.HookOf(r.Hook, r.PlanPublicID, r.PlanKey)
		last, err := s.HookDeliveries(ctx, domain.DeliveryFilter{Hook: h.ID, Page: domain.Page{Limit: 1}})
		if err != nil {
			return list, err
		}
		if len(last.Items) > 0 {
			h.Last = &last.Items[0]
		}
		list.Items = append(list.Items, h)
	}
	return list, nil
}

// WatchingHooks lists the hooks that watch files, unless they are paused.
func (s *SignalReader) WatchingHooks(ctx context.Context) ([]domain.Hook, error) {
	rows, err := s.db.Q.HookWatching(ctx)
	out := make([]domain.Hook, len(rows))
	for i, r := range rows {
		out[i] = incoming.HookOf(r.Hook, r.PlanPublicID, r.PlanKey)
	}
	return out, core.Translate(err, "list hooks")
}

// WatchedFiles lists the events of the files that were delivered to a hook, and were not deleted or
// changed after that.
func (s *SignalReader) WatchedFiles(ctx context.Context, hook string) ([]string, error) {
	events, err := s.db.Q.HookFileList(ctx, hook)
	return events, core.Translate(err, "list files")
}

// WasDelivered reports whether a file was delivered to a hook, and exists or existed in the last 30 days.
func (s *SignalReader) WasDelivered(ctx context.Context, hook, event string) (bool, error) {
	n, err := s.db.Q.HookFileCount(ctx, hook, event)
	return n > 0, core.Translate(err, "read a file")
}

// Accepted returns the accepted delivery to a hook with a key, with its ID, run, and signal. It is zero
// if there is none.
func (s *SignalReader) Accepted(ctx context.Context, hook, key string) (domain.HookDelivery, error) {
	return incoming.Accepted(ctx, s.db.Q, hook, key)
}

// DeliveryOfRun returns the ID of the delivery that started a run, or "".
func (s *SignalReader) DeliveryOfRun(ctx context.Context, run string) (string, error) {
	id, err := s.db.Q.HookDeliveryOfRun(ctx, run)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return id, core.Translate(err, "read a delivery")
}

// HookDelivery finds a delivery. It returns CodeNotFound.
func (s *SignalReader) HookDelivery(ctx context.Context, id string) (domain.HookDelivery, error) {
	r, err := s.db.Q.HookDeliveryGet(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.HookDelivery{}, domain.Errorf(domain.CodeNotFound, "delivery %q not found", id)
	} else if err != nil {
		return domain.HookDelivery{}, core.Translate(err, "read a delivery")
	}
	d := incoming.DeliveryOf(r.HookDelivery, r.HookPublicID, r.HookKey, r.Run)
	d.Body = r.HookContent.Body
	if json.Unmarshal([]byte(r.HookContent.Headers), &d.Headers) != nil {
		d.Headers = nil // the row is checked by the integrity check
	}
	return d, nil
}

// Replayable returns the IDs of the deliveries that a replay repeats, oldest first, and when the first
// and the last of them arrived.
func (s *SignalReader) Replayable(ctx context.Context, f domain.ReplayFilter) (ids []string, first, last time.Time, err error) {
	rows, err := s.db.Q.HookReplayable(ctx, dbsqlc.HookReplayableParams{Hook: f.Hook, State: string(f.State), Since: core.Micros(f.Since),
		Max: int64(f.Limit)})
	for i, r := range rows {
		ids, last = append(ids, r.PublicID), core.FromMicros(r.ReceivedAt)
		if i == 0 {
			first = last
		}
	}
	return ids, first, last, core.Translate(err, "find deliveries to replay")
}

// HookDeliveries lists the deliveries to a hook, newest first.
func (s *SignalReader) HookDeliveries(ctx context.Context, f domain.DeliveryFilter) (domain.List[domain.HookDelivery], error) {
	var list domain.List[domain.HookDelivery]
	before := int64(math.MaxInt64)
	if f.Page.After != "" {
		var err error
		if before, err = strconv.ParseInt(f.Page.After, 10, 64); err != nil {
			return list, core.BadCursor()
		}
	}
	limit := core.PageLimit(f.Page.Limit)
	rows, err := s.db.Q.HookDeliveryList(ctx, dbsqlc.HookDeliveryListParams{Hook: f.Hook, Before: before, State: string(f.State),
		Max: int64(limit) + 1})
	if err != nil {
		return list, core.Translate(err, "list deliveries")
	}
	for i, r := range rows {
		if i == limit {
			list.Next = strconv.FormatInt(rows[i-1].HookDelivery.ID, 10)
			break
		}
		list.Items = append(list.Items, incoming.DeliveryOf(r.HookDelivery, r.HookPublicID, r.HookKey, r.Run))
	}
	return list, nil
}
