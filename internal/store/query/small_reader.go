package query

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// SmallReader reads bulk operations, drafts, deliveries, settings, and definitions of tools.
type SmallReader struct{ db *core.DB }

// Bulk finds a bulk operation. If it does not exist, the error is CodeNotFound.
func (s *SmallReader) Bulk(ctx context.Context, id string) (domain.Bulk, error) {
	row, err := s.db.Q.BulkGet(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Bulk{}, domain.Errorf(domain.CodeNotFound, "bulk operation %q not found", id)
	}
	return core.Bulk(row), core.Translate(err, "read bulk operation")
}

// Bulks lists the newest bulk operations.
func (s *SmallReader) Bulks(ctx context.Context, limit int) ([]domain.Bulk, error) {
	rows, err := s.db.Q.BulkNewest(ctx, int64(limit))
	return bulks(rows), core.Translate(err, "list bulk operations")
}

// BulksUnderWay lists the active bulk operations, oldest first.
func (s *SmallReader) BulksUnderWay(ctx context.Context) ([]domain.Bulk, error) {
	rows, err := s.db.Q.BulkUnderWay(ctx)
	return bulks(rows), core.Translate(err, "list bulk operations")
}

// BulkItems lists runs of a bulk operation, in order.
func (s *SmallReader) BulkItems(ctx context.Context, f domain.BulkItemFilter) ([]domain.BulkItem, error) {
	var rows []dbsqlc.BulkItem
	var err error
	if f.State == "" {
		rows, err = s.db.Q.BulkItemList(ctx, f.Bulk, f.After, int64(f.Limit))
	} else {
		in := dbsqlc.BulkItemListInParams{Bulk: f.Bulk, State: f.State, After: f.After, Max: int64(f.Limit)}
		rows, err = s.db.Q.BulkItemListIn(ctx, in)
	}
	if err != nil {
		return nil, core.Translate(err, "read bulk operation")
	}
	out := make([]domain.BulkItem, len(rows))
	for i, r := range rows {
		out[i] = domain.BulkItem{
			Position: r.Position,
			Run:      r.Run,
			Rev:      r.Rev,
			Node:     r.Node,
			Code:     r.Code,
			State:    r.State,
			Result:   r.Result,
			Detail:   r.Detail,
			Message:  domain.DecodeMessage(r.Message, r.Detail),
			At:       core.FromMicros(r.At),
		}
	}
	return out, nil
}

func bulks(rows []dbsqlc.Bulk) []domain.Bulk {
	out := make([]domain.Bulk, len(rows))
	for i, r := range rows {
		out[i] = core.Bulk(r)
	}
	return out
}

// SavedViews lists a user's views and the shared views.
func (s *SmallReader) SavedViews(ctx context.Context, owner string) ([]domain.SavedView, error) {
	rows, err := s.db.Q.SavedViewList(ctx, owner)
	if err != nil {
		return nil, core.Translate(err, "list views")
	}
	out := make([]domain.SavedView, len(rows))
	for i, r := range rows {
		out[i] = domain.SavedView{Owner: r.Owner, Name: r.Name, Query: r.Query}
	}
	return out, nil
}

// Circuits returns the circuits that SetCircuits stored.
func (s *SmallReader) Circuits(ctx context.Context) ([]domain.StoredCircuit, error) {
	rows, err := s.db.Q.CircuitList(ctx)
	if err != nil {
		return nil, core.Translate(err, "read circuits")
	}
	out := make([]domain.StoredCircuit, len(rows))
	for i, r := range rows {
		out[i] = domain.StoredCircuit{
			Subject:     r.Subject,
			LastCode:    r.LastCode,
			LastMessage: r.LastMessage,
			LastText:    r.LastText,
			Circuit: domain.Circuit{Part: r.Part, State: domain.CircuitState(r.State),
				FailuresInRow: int(
					r.FailuresInRow,
				), Since: core.FromMicros(r.Since), OpenUntil: core.FromMicros(r.OpenUntil), LastError: r.LastMessage,
				LastErrorAt: core.FromMicros(r.LastErrorAt)},
		}
	}
	return out, nil
}

// ToolPins returns the accepted definitions of the tools of an MCP server.
func (s *SmallReader) ToolPins(ctx context.Context, server string) ([]domain.ToolPin, error) {
	rows, err := s.db.Q.ToolPinList(ctx, server)
	if err != nil {
		return nil, core.Translate(err, "read accepted tools")
	}
	out := make([]domain.ToolPin, len(rows))
	for i, r := range rows {
		out[i] = domain.ToolPin{Server: r.Server, Tool: r.Tool, Hash: r.Hash, Definition: domain.RawJSON(r.Definition)}
	}
	return out, nil
}

// Notified returns the number of the last audit event for which notifications were created, or 0.
func (s *SmallReader) Notified(ctx context.Context) (int64, error) {
	text, err := s.Setting(ctx, core.SettingNotified)
	if err != nil || text == "" {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, domain.Errorf(domain.CodeCorrupt, "setting %s: %w", core.SettingNotified, err)
	}
	return n, nil
}

// DueDeliveries returns the messages to send now, and the time at which the next one is due. The
// time is zero if no message waits.
func (s *SmallReader) DueDeliveries(ctx context.Context, now time.Time, limit int) ([]domain.Delivery, time.Time, error) {
	rows, err := s.db.Q.DeliveryDue(ctx, core.Micros(now), int64(limit))
	if err != nil {
		return nil, time.Time{}, core.Translate(err, "read messages")
	}
	next, err := s.db.Q.DeliveryNext(ctx)
	return deliveries(rows), core.FromMicros(next), core.Translate(err, "read messages")
}

// Deliveries returns the newest messages of a channel, newest first.
func (s *SmallReader) Deliveries(ctx context.Context, channel string, limit int) ([]domain.Delivery, error) {
	rows, err := s.db.Q.DeliveryList(ctx, channel, int64(limit))
	return deliveries(rows), core.Translate(err, "list messages")
}

// Repeated returns the messages created at or before a time that represent several messages.
func (s *SmallReader) Repeated(ctx context.Context, before time.Time, limit int) ([]domain.Delivery, error) {
	rows, err := s.db.Q.DeliveryWithMore(ctx, core.Micros(before), int64(limit))
	return deliveries(rows), core.Translate(err, "read repeated messages")
}

func deliveries(rows []dbsqlc.Delivery) []domain.Delivery {
	out := make([]domain.Delivery, len(rows))
	for i, r := range rows {
		out[i] = domain.Delivery{
			ID:       r.ID,
			Channel:  r.Channel,
			Kind:     r.Kind,
			Seq:      r.Seq,
			GroupKey: r.DedupKey,
			More:     r.Repeats,
			Body:     domain.RawJSON(r.Body),
			Status:   domain.DeliveryStatus(r.Status),
			Attempts: int(
				r.Attempts,
			),
			DueAt:     core.FromMicros(r.DueAt),
			CreatedAt: core.FromMicros(r.CreatedAt),
			EndedAt:   core.FromMicros(r.EndedAt),
			Error:     r.Error,
		}
	}
	return out
}

// Draft finds a draft. If it does not exist, the error is CodeNotFound.
func (s *SmallReader) Draft(ctx context.Context, id string) (domain.Draft, error) {
	row, err := s.db.Q.DraftGet(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Draft{}, domain.Errorf(domain.CodeNotFound, "draft %q not found", id)
	}
	if err != nil {
		return domain.Draft{}, core.Translate(err, "read draft")
	}
	return core.Draft(row)
}

// DraftOfVersion finds the newest draft of a plan version. If there is none, the error is
// CodeNotFound.
func (s *SmallReader) DraftOfVersion(ctx context.Context, hash string) (domain.Draft, error) {
	row, err := s.db.Q.DraftByVersion(ctx, hash)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Draft{}, domain.Errorf(domain.CodeNotFound, "draft of version %q not found", hash)
	}
	if err != nil {
		return domain.Draft{}, core.Translate(err, "read draft")
	}
	return core.Draft(row)
}

// Drafts lists the newest drafts: the open ones, or all.
func (s *SmallReader) Drafts(ctx context.Context, all bool, limit int) ([]domain.Draft, error) {
	list := s.db.Q.DraftOpen
	if all {
		list = s.db.Q.DraftNewest
	}
	rows, err := list(ctx, int64(limit))
	return drafts(rows, err)
}

// DraftsUnderWay lists the drafts in planning, oldest first.
func (s *SmallReader) DraftsUnderWay(ctx context.Context) ([]domain.Draft, error) {
	rows, err := s.db.Q.DraftUnderWay(ctx)
	return drafts(rows, err)
}

// DraftsFrom lists the drafts that refine a draft, oldest first.
func (s *SmallReader) DraftsFrom(ctx context.Context, parent string) ([]domain.Draft, error) {
	rows, err := s.db.Q.DraftChildren(ctx, parent)
	return drafts(rows, err)
}

func drafts(rows []dbsqlc.Draft, err error) ([]domain.Draft, error) {
	if err != nil {
		return nil, core.Translate(err, "list drafts")
	}
	out := make([]domain.Draft, len(rows))
	for i, r := range rows {
		if out[i], err = core.Draft(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Preference returns the value that a person stored under a key, or "".
func (s *SmallReader) Preference(ctx context.Context, owner, key string) (string, error) {
	v, err := s.db.Q.PreferenceGet(ctx, owner, key)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return v, core.Translate(err, "read preference "+key)
}

// Setting returns the value stored under a key, or "".
func (s *SmallReader) Setting(ctx context.Context, key string) (string, error) {
	text, err := s.db.Q.SettingGet(ctx, key)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, core.Translate(err, "read setting "+key)
}
