package api

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

type (
	schedulesIn struct {
		PageIn
		Filter string `query:"filter" maxLength:"200" doc:"Part of the key."`
		Plan   string `query:"plan" maxLength:"128" doc:"Only schedules of this plan, by id or key."`
		Status string `query:"status" enum:"active,paused,missed" doc:"missed: with slots that wait for a decision; absent: all."`
	}
	schedulesOut struct {
		Body apitypes.List[apitypes.Schedule]
	}
	ScheduleIn struct {
		ID string `path:"id" maxLength:"128" doc:"The schedule's id or key."`
	}
	scheduleReadIn struct {
		ScheduleIn
		IfNoneMatch string `header:"If-None-Match"`
	}
	scheduleDetailOut struct {
		Status int
		ETag   string `header:"ETag"`
		Body   apitypes.ScheduleDetail
	}
	scheduleOut struct {
		Status   int
		ETag     string `header:"ETag"`
		Location string `header:"Location"`
		Body     apitypes.Schedule
	}
	scheduleCreateIn struct{ Body apitypes.ScheduleCreate }
	scheduleEditIn   struct {
		ScheduleIn
		IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag of the schedule that you saw."`
		Body    apitypes.ScheduleChange
	}
	scheduleChangeIn struct {
		ScheduleIn
		IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag of the schedule that you saw."`
		Body    *ReasonOptions
	}
	scheduleDeleteIn struct {
		ScheduleIn
		IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag of the schedule that you saw."`
	}
	timesIn struct {
		Cron     string `query:"cron" required:"true" maxLength:"200" doc:"The cron expression." example:"30 2 * * 1-5"`
		TimeZone string `query:"timeZone" maxLength:"64" doc:"An IANA name; default UTC."`
		Count    int    `query:"count" minimum:"1" maximum:"100" default:"10" doc:"Number of times."`
	}
	timesOut struct{ Body ScheduleTimes }
	slotsIn  struct {
		ScheduleIn
		ListIn
	}
	slotsOut struct {
		Body apitypes.List[apitypes.Slot]
	}
	missedOut struct {
		Body apitypes.List[apitypes.MissedSlots]
	}
	missedIn struct {
		ScheduleIn
		ListIn
	}
	decideMissedIn struct {
		ScheduleIn
		Body apitypes.MissedDecision
	}
	decidedMissedOut struct{ Body MissedDecided }
	backfillIn       struct {
		ScheduleIn
		Preview bool `query:"preview" doc:"Only show what the backfill would do. Requires the role viewer."`
		Body    apitypes.BackfillCreate
	}
	backfillOut struct {
		Status   int
		Location string `header:"Location"`
		Body     any
	}
)

// ScheduleTimes are the next times of a cron expression.
type ScheduleTimes struct {
	Times []time.Time `json:"times" doc:"The times, in the time zone."`
}

// MissedDecided is the result of a decision about missed slots.
type MissedDecided struct {
	Operation string `json:"operation,omitempty" doc:"The id of the bulk operation that runs the slots; absent: none does."`
}

// scheduleHandler serves schedules.
type scheduleHandler struct {
	*kernel
	schedules *app.Schedules
}

func (h scheduleHandler) routes(a *API) {
	tags := []string{"schedules"}
	mount(a, huma.Operation{OperationID: "list-schedules", Method: http.MethodGet, Path: "/schedules", Tags: tags,
		Summary: "List schedules, by key"}, h.list)
	mount(a, huma.Operation{OperationID: "create-schedule", Method: http.MethodPost, Path: "/schedules", Tags: tags,
		DefaultStatus: http.StatusCreated, Summary: "Create a schedule", Description: "plan and cron are required."}, h.create)
	mount(a, huma.Operation{OperationID: "get-schedule", Method: http.MethodGet, Path: "/schedules/{id}", Tags: tags,
		Summary: "Get a schedule with its next times", Responses: map[string]*huma.Response{"304": {Description: "Not modified"}}}, h.get)
	mount(a, huma.Operation{OperationID: "update-schedule", Method: http.MethodPatch, Path: "/schedules/{id}", Tags: tags,
		Summary: "Change a schedule", Description: "Absent settings do not change. Runs that were started do not change."}, h.update)
	mount(a, huma.Operation{OperationID: "delete-schedule", Method: http.MethodDelete, Path: "/schedules/{id}", Tags: tags,
		Summary: "Delete a schedule, and return it; its runs stay"}, h.delete)
	mount(a, huma.Operation{OperationID: "pause-schedule", Method: http.MethodPost, Path: "/schedules/{id}/pause", Tags: tags,
		Summary:     "Pause a schedule",
		Description: "No slot starts a run, and none counts as missed. Active runs continue. A paused schedule stays as it is."},
		h.change(h.schedules.Pause))
	mount(a, huma.Operation{OperationID: "resume-schedule", Method: http.MethodPost, Path: "/schedules/{id}/resume", Tags: tags,
		Summary: "Resume a schedule", Description: "It continues with the next slot. A schedule that is not paused stays as it is."},
		h.change(h.schedules.Resume))
	mount(a, huma.Operation{OperationID: "preview-schedule", Method: http.MethodGet, Path: "/schedule-times", Tags: tags,
		Summary: "List the next times of a cron expression"}, h.times)
	mount(a, huma.Operation{OperationID: "list-schedule-slots", Method: http.MethodGet, Path: "/schedules/{id}/slots", Tags: tags,
		Summary: "List the slots of a schedule that were due, newest first"}, h.slots)
	mount(a, huma.Operation{OperationID: "list-missed-slots", Method: http.MethodGet, Path: "/schedules/{id}/missed", Tags: tags,
		Summary: "List the missed slots of a schedule, newest first"}, h.missed)
	mount(a, huma.Operation{OperationID: "decide-missed-slots", Method: http.MethodPost, Path: "/schedules/{id}/missed", Tags: tags,
		Summary:     "Decide about missed slots",
		Description: "Starts none, the last, or all of the missed slots. A bulk operation starts them, oldest first."}, h.decide)
	mount(a, huma.Operation{OperationID: "backfill-schedule", Method: http.MethodPost, Path: "/schedules/{id}/backfill", Tags: tags,
		DefaultStatus: http.StatusCreated, Summary: "Run the past slots of a range",
		Description: "A bulk operation starts the slots that have no run, oldest first.",
		Responses: map[string]*huma.Response{
			"201": a.jsonResponse("The bulk operation", reflect.TypeFor[apitypes.BulkOperation]()),
			"200": a.jsonResponse("With preview: what would start", reflect.TypeFor[apitypes.BackfillPreview]())}}, h.backfill)
}

func scheduleTag(s domain.Schedule) string { return etag(strconv.FormatInt(s.Rev, 10)) }

func scheduleAnswer(s domain.Schedule, status int) *scheduleOut {
	return &scheduleOut{Status: status, ETag: scheduleTag(s), Body: apitypes.ScheduleOf(s)}
}

func (h scheduleHandler) list(ctx context.Context, in *schedulesIn) (*schedulesOut, error) {
	after, err := h.unseal(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	list, err := h.schedules.List(ctx, actorOf(ctx), domain.ScheduleFilter{Plan: in.Plan, Text: in.Filter, State: in.Status,
		Page: domain.Page{After: after, Limit: in.Limit}})
	if err != nil {
		return nil, err
	}
	return &schedulesOut{listOf(list.Items, h.seal(ctx, list.Next), apitypes.ScheduleOf)}, nil
}

func (h scheduleHandler) create(ctx context.Context, in *scheduleCreateIn) (*scheduleOut, error) {
	s, err := h.schedules.Create(ctx, app.NewSchedule{Meta: meta(ctx), Key: in.Body.Key, ScheduleFields: fieldsOf(in.Body.ScheduleChange)})
	if err != nil {
		return nil, err
	}
	out := scheduleAnswer(s, http.StatusCreated)
	out.Location = Base + "/schedules/" + s.ID
	return out, nil
}

// fieldsOf returns the settings in a request.
func fieldsOf(c apitypes.ScheduleChange) app.ScheduleFields {
	f := app.ScheduleFields{Plan: c.Plan, Version: c.Version, Cron: c.Cron, Zone: c.TimeZone, Input: c.Input, Profile: c.Profile,
		Labels: c.Labels, Overlap: c.Overlap, CatchUp: c.CatchUp}
	if c.JitterMs != nil {
		jitter := time.Duration(*c.JitterMs) * time.Millisecond
		f.Jitter = &jitter
	}
	return f
}

func (h scheduleHandler) get(ctx context.Context, in *scheduleReadIn) (*scheduleDetailOut, error) {
	s, err := h.schedules.Get(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	out := &scheduleDetailOut{Status: http.StatusOK, ETag: scheduleTag(s), Body: apitypes.ScheduleDetail{Schedule: apitypes.ScheduleOf(s),
		Times: []time.Time{}}}
	if matches(in.IfNoneMatch, out.ETag) {
		out.Status = http.StatusNotModified
		return out, nil
	}
	if out.Body.Effective, err = h.schedules.CatchUp(ctx, actorOf(ctx), s); err != nil {
		return nil, err
	}
	times, err := h.schedules.Next(ctx, actorOf(ctx), s.Cron, s.Zone, shownTimes)
	if err == nil { // otherwise its time zone no longer exists, and the timer pauses it
		out.Body.Times = times
	}
	return out, nil
}

// shownTimes is the number of next times that a schedule shows.
const shownTimes = 10

func (h scheduleHandler) update(ctx context.Context, in *scheduleEditIn) (*scheduleOut, error) {
	rev, err := revOf(in.IfMatch)
	if err != nil {
		return nil, err
	}
	s, err := h.schedules.Update(ctx, app.ScheduleEdit{Meta: meta(ctx), Schedule: in.ID, Rev: rev, ScheduleFields: fieldsOf(in.Body)})
	if err != nil {
		return nil, err
	}
	return scheduleAnswer(s, http.StatusOK), nil
}

func (h scheduleHandler) change(do func(context.Context, app.ScheduleChange) (domain.Schedule, error)) func(context.Context,
	*scheduleChangeIn) (*scheduleOut, error) {
	return func(ctx context.Context, in *scheduleChangeIn) (*scheduleOut, error) {
		rev, err := revOf(in.IfMatch)
		if err != nil {
			return nil, err
		}
		r := app.ScheduleChange{Meta: meta(ctx), Schedule: in.ID, Rev: rev}
		if in.Body != nil {
			r.Reason = in.Body.Reason
		}
		s, err := do(ctx, r)
		if err != nil {
			return nil, err
		}
		return scheduleAnswer(s, http.StatusOK), nil
	}
}

func (h scheduleHandler) delete(ctx context.Context, in *scheduleDeleteIn) (*scheduleOut, error) {
	rev, err := revOf(in.IfMatch)
	if err != nil {
		return nil, err
	}
	s, err := h.schedules.Delete(ctx, app.ScheduleChange{Meta: meta(ctx), Schedule: in.ID, Rev: rev})
	if err != nil {
		return nil, err
	}
	return scheduleAnswer(s, http.StatusOK), nil
}

func (h scheduleHandler) times(ctx context.Context, in *timesIn) (*timesOut, error) {
	times, err := h.schedules.Next(ctx, actorOf(ctx), in.Cron, in.TimeZone, in.Count)
	return &timesOut{ScheduleTimes{times}}, err
}

func (h scheduleHandler) slots(ctx context.Context, in *slotsIn) (*slotsOut, error) {
	before, err := h.position(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	found, next, err := filter.Search(in.Filter, in.Limit, before, func(before int64, limit int) ([]apitypes.Slot, int64, error) {
		var at time.Time
		if before != 0 {
			at = time.Unix(before, 0)
		}
		slots, err := h.schedules.Slots(ctx, actorOf(ctx), in.ID, at, limit+1)
		next := int64(0)
		if len(slots) > limit {
			slots = slots[:limit]
			next = slots[limit-1].At.Unix()
		}
		return listOf(slots, "", apitypes.SlotOf).Items, next, err
	})
	return &slotsOut{listOf(found, h.sealPosition(ctx, next), same)}, err
}

func (h scheduleHandler) missed(ctx context.Context, in *missedIn) (*missedOut, error) {
	list, err := h.schedules.Missed(ctx, actorOf(ctx), in.ID, maxListed)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(ctx, h.kernel, &in.ListIn, list, func(m domain.MissedSlots) string { return m.ID }, apitypes.MissedSlotsOf)
	return &missedOut{page}, err
}

func (h scheduleHandler) decide(ctx context.Context, in *decideMissedIn) (*decidedMissedOut, error) {
	b, err := h.schedules.DecideMissed(ctx, app.MissedDecision{Meta: meta(ctx), Schedule: in.ID, Missed: in.Body.Missed,
		Slots: in.Body.Slots, Decision: in.Body.Decision, Canary: in.Body.Canary, Rate: in.Body.Rate, Reason: in.Body.Reason})
	return &decidedMissedOut{MissedDecided{b.ID}}, err
}

func (h scheduleHandler) backfill(ctx context.Context, in *backfillIn) (*backfillOut, error) {
	r := app.Backfill{Meta: meta(ctx), Schedule: in.ID, From: in.Body.From, To: in.Body.To, Canary: in.Body.Canary, Rate: in.Body.Rate,
		Reason: in.Body.Reason, Digest: in.Body.Slots}
	if in.Preview {
		p, err := h.schedules.PreviewBackfill(ctx, actorOf(ctx), r)
		if err != nil {
			return nil, err
		}
		shown := apitypes.BackfillPreview{Slots: len(p.Slots), Started: p.Started}
		if n := len(p.Slots); n > 0 {
			shown.First, shown.Last = p.Slots[0], p.Slots[n-1]
		}
		return &backfillOut{Status: http.StatusOK, Body: shown}, nil
	}
	b, err := h.schedules.Backfill(ctx, r)
	return &backfillOut{Status: http.StatusCreated, Location: Base + "/bulk-operations/" + b.ID, Body: apitypes.BulkOperationOf(b)}, err
}
