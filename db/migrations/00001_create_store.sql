-- +goose Up

-- Facts about the server: instance, generation, open count.
CREATE TABLE settings (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE plans (
    id          INTEGER PRIMARY KEY,
    public_id   TEXT    NOT NULL UNIQUE,
    key         TEXT    NOT NULL UNIQUE,
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    latest      INTEGER NOT NULL,
    latest_hash TEXT    NOT NULL,
    archived_at INTEGER NOT NULL DEFAULT 0,
    stage       TEXT    NOT NULL DEFAULT '' CHECK (stage IN ('', 'draft', 'trial', 'block')),
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    -- While paused_at is not 0, no run of the plan starts.
    paused_at     INTEGER NOT NULL DEFAULT 0,
    paused_by     TEXT    NOT NULL DEFAULT '',
    paused_reason TEXT    NOT NULL DEFAULT ''
) STRICT;

-- Names in the newest version of each plan, for searches of plans.
CREATE TABLE plan_facts (
    plan_id INTEGER NOT NULL REFERENCES plans (id) ON DELETE CASCADE,
    kind    TEXT    NOT NULL CHECK (kind IN ('tool', 'agent', 'secret', 'owner', 'label', 'expose')),
    value   TEXT    NOT NULL,
    PRIMARY KEY (plan_id, kind, value)
) STRICT, WITHOUT ROWID;

-- Serves PlanListNewer, PlanListOlder.
CREATE INDEX plans_by_update ON plans ((archived_at <> 0), updated_at, id);

-- Immutable. A version never changes, and is not deleted while a run refers to it.
CREATE TABLE plan_versions (
    id          INTEGER PRIMARY KEY,
    plan_id     INTEGER NOT NULL REFERENCES plans (id) ON DELETE RESTRICT,
    number      INTEGER NOT NULL CHECK (number > 0),
    hash        TEXT    NOT NULL UNIQUE,
    semantics   INTEGER NOT NULL,
    kind        TEXT    NOT NULL CHECK (kind IN ('graph', 'steps')),
    format      TEXT    NOT NULL CHECK (format IN ('yaml', 'json')),
    source      BLOB    NOT NULL,
    canonical   BLOB    NOT NULL,
    origin      TEXT    NOT NULL,
    by_person   INTEGER NOT NULL CHECK (by_person IN (0, 1)),
    parent_hash TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    author      TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    CONSTRAINT version_number_is_unique UNIQUE (plan_id, number)
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER plan_versions_are_immutable BEFORE UPDATE ON plan_versions
BEGIN
    SELECT raise(ABORT, 'plan versions are immutable');
END;
-- +goose StatementEnd

-- Every checkpoint writes a row, so the rows are narrow. Columns that are read
-- rarely or can be large are in run_details. The checks compare values one by
-- one, because SQLite builds a table for each IN with more than two values.
CREATE TABLE runs (
    id            INTEGER PRIMARY KEY,
    public_id     TEXT    NOT NULL UNIQUE,
    tail          TEXT    NOT NULL, -- public_id reversed, to find runs by their last characters
    plan_id       INTEGER NOT NULL REFERENCES plans (id) ON DELETE RESTRICT,
    version_id    INTEGER NOT NULL REFERENCES plan_versions (id) ON DELETE RESTRICT,
    status        TEXT    NOT NULL CHECK (status = 'queued' OR status = 'running' OR status = 'waiting' OR status = 'completed' OR status = 'failed' OR status = 'cancelled'),
    wait_reason   TEXT    NOT NULL DEFAULT '' CHECK (wait_reason = '' OR wait_reason = 'approval' OR wait_reason = 'timer' OR wait_reason = 'retry' OR wait_reason = 'in_doubt' OR wait_reason = 'paused'
                      OR wait_reason = 'budget' OR wait_reason = 'held' OR wait_reason = 'quarantined' OR wait_reason = 'replan' OR wait_reason = 'child' OR wait_reason = 'signal'),
    attention     INTEGER NOT NULL DEFAULT 0 CHECK (attention IN (0, 1)),
    last_seq      INTEGER NOT NULL DEFAULT 0,
    steps         INTEGER NOT NULL DEFAULT 0,
    path          TEXT    NOT NULL DEFAULT '',
    headline      TEXT    NOT NULL DEFAULT '',
    message       TEXT, -- headline as a format and its arguments; null: it is not translated
    node          TEXT    NOT NULL DEFAULT '',
    error_code    TEXT    NOT NULL DEFAULT '',
    actor         TEXT    NOT NULL,
    origin        TEXT    NOT NULL,
    priority      INTEGER NOT NULL DEFAULT 0,
    run_key       TEXT    UNIQUE,
    concurrency_key TEXT    NOT NULL DEFAULT '',
    parent_run    TEXT    NOT NULL DEFAULT '',
    forked_from   TEXT    NOT NULL DEFAULT '',
    fork_seq      INTEGER NOT NULL DEFAULT 0,
    rerun_of      TEXT    NOT NULL DEFAULT '',
    undoes        TEXT    NOT NULL DEFAULT '', -- the run whose steps this one undoes
    start_at      INTEGER NOT NULL DEFAULT 0,
    due_at        INTEGER NOT NULL DEFAULT 0,
    input_tokens  INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cost          REAL    NOT NULL DEFAULT 0,
    crashes       INTEGER NOT NULL DEFAULT 0,
    paused        INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    created_at    INTEGER NOT NULL,
    started_at    INTEGER NOT NULL DEFAULT 0,
    ended_at      INTEGER NOT NULL DEFAULT 0,
    running_us    INTEGER NOT NULL DEFAULT 0,
    deleted_at    INTEGER NOT NULL DEFAULT 0,
    purged_at     INTEGER NOT NULL DEFAULT 0,
    max_attempts  INTEGER NOT NULL DEFAULT 0, -- most attempts of one step, if more than one
    fingerprint   TEXT    NOT NULL DEFAULT '', -- of the error of a failed run
    schedule      TEXT    NOT NULL DEFAULT '', -- key of the schedule that started the run
    slot          TEXT    NOT NULL DEFAULT '', -- time of the slot, as in ${run.slot}
    profile       TEXT    NOT NULL DEFAULT '', -- of the plan; empty: the plan as written
    CONSTRAINT wait_reason_belongs_to_waiting CHECK ((status = 'waiting') = (wait_reason <> '')),
    CONSTRAINT ended_exactly_when_final CHECK ((status = 'completed' OR status = 'failed' OR status = 'cancelled') = (ended_at <> 0))
) STRICT;

-- Serves Runs, Steps.
CREATE INDEX runs_by_age ON runs (deleted_at, id);
-- Serves Runs.
CREATE INDEX runs_by_status ON runs (deleted_at, status, id);
-- Serves Runs, Steps, PlanInsert, RunsOfPlan.
CREATE INDEX runs_by_plan ON runs (deleted_at, plan_id, id);
-- Serves Runs, FailureUnackRuns, RunGoodBefore, RunsQueuedOfPlan.
CREATE INDEX runs_by_plan_status ON runs (deleted_at, plan_id, status, id);
-- Serves RunByTail, RunRowsByTail.
CREATE INDEX runs_by_tail ON runs (tail);
-- Serves Runs, RunActorsKnown.
CREATE INDEX runs_by_actor ON runs (deleted_at, actor, id);
-- Serves Runs, RunErrorsKnown.
CREATE INDEX runs_by_error ON runs (deleted_at, error_code, id) WHERE error_code <> '';
-- Serves Runs.
CREATE INDEX runs_that_need_attention ON runs (deleted_at, id) WHERE attention = 1;
-- Serves Runs, FailureAckRuns, FailureGroupFirst, FailureGroupNewest, FailureGroupTimes.
CREATE INDEX runs_failed_by_fingerprint ON runs (plan_id, node, error_code, fingerprint, id, ended_at) WHERE attention = 1 AND status = 'failed' AND deleted_at = 0;
-- Serves RunHoldable, RunUnfinished, RunUnfinishedBare.
CREATE INDEX runs_unfinished ON runs (priority DESC, id) WHERE ended_at = 0;
-- Serves RunActiveByConcurrency.
CREATE INDEX runs_by_concurrency ON runs (concurrency_key, id) WHERE concurrency_key <> '' AND ended_at = 0;
-- Serves RunEnded, RunEndedOfPlan, RunEndedSince.
CREATE INDEX runs_by_end ON runs (status, ended_at) WHERE ended_at <> 0;
-- Serves Runs.
CREATE INDEX runs_that_wait ON runs (deleted_at, wait_reason, id) WHERE wait_reason <> '';
-- Serves PlannedRuns, RunNewestEnds.
CREATE INDEX runs_of_plan_by_end ON runs (plan_id, status, ended_at) WHERE ended_at <> 0 AND purged_at = 0;
-- Serves Runs.
CREATE INDEX runs_retried ON runs (deleted_at, id) WHERE max_attempts > 1;
-- Serves Runs.
CREATE INDEX runs_that_crashed ON runs (deleted_at, id) WHERE crashes > 0;
-- Serves Runs, RunChildren, RunLiveChildren.
CREATE INDEX runs_by_parent ON runs (parent_run, id) WHERE parent_run <> '';
-- Serves Runs, RunForks.
CREATE INDEX runs_by_fork ON runs (forked_from, id) WHERE forked_from <> '';
-- Serves Runs, RunReruns.
CREATE INDEX runs_by_rerun ON runs (rerun_of, id) WHERE rerun_of <> '';
-- Serves Runs, RunUndos.
CREATE INDEX runs_by_undo ON runs (undoes, id) WHERE undoes <> '';
-- Serves Runs.
CREATE INDEX runs_by_schedule ON runs (schedule, id) WHERE schedule <> '';
-- Serves Runs.
CREATE INDEX runs_by_profile ON runs (deleted_at, profile, id) WHERE profile <> '';
-- Serves RunsCount.
CREATE INDEX runs_unlisted ON runs (deleted_at, status, plan_id, id) WHERE origin = 'dry' OR origin = 'block' AND attention = 0;

-- Legal transitions, as in domain.CanMove. A completed run stays completed. A
-- failed or cancelled run can only continue.
-- +goose StatementBegin
CREATE TRIGGER runs_move_legally BEFORE UPDATE OF status ON runs
WHEN new.status <> old.status AND old.ended_at <> 0 AND (old.status = 'completed' OR new.ended_at <> 0)
BEGIN
    SELECT raise(ABORT, 'illegal status of a run');
END;
-- +goose StatementEnd

CREATE TABLE run_details (
    run_id        INTEGER NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    input         TEXT,
    output        TEXT,
    error_message TEXT    NOT NULL DEFAULT '',
    error_text    TEXT    NOT NULL DEFAULT '', -- the message with its arguments; empty: it is not translated
    error_node    TEXT    NOT NULL DEFAULT '',
    session       TEXT    NOT NULL DEFAULT '',
    limits        TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(limits)),
    labels        TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(labels)),
    given_labels  TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(given_labels)), -- added later by people; labels is sealed
    parent        TEXT    CHECK (parent IS NULL OR json_valid(parent)),
    concurrency   TEXT    CHECK (concurrency IS NULL OR json_valid(concurrency))
) STRICT;

CREATE TABLE run_labels (
    key    TEXT    NOT NULL,
    value  TEXT    NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    PRIMARY KEY (key, value, run_id)
) STRICT, WITHOUT ROWID;

-- Serves Runs, RunLabelDrop, LabelsOfRun.
CREATE INDEX run_labels_by_run ON run_labels (run_id);

-- Words of runs, by the id of their row: of the headlines of failed runs, and of
-- labels. The headline of an active run changes at every step, and there are few
-- such runs, so searches read their headlines instead.
CREATE VIRTUAL TABLE run_words USING fts5 (headline, labels, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2');

-- The agents, tools, and providers of a run.
CREATE TABLE run_uses (
    kind   TEXT    NOT NULL CHECK (kind IN ('agent', 'tool', 'provider')),
    name   TEXT    NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    PRIMARY KEY (kind, name, run_id)
) STRICT, WITHOUT ROWID;

-- Serves Runs, RunUses.
CREATE INDEX run_uses_by_run ON run_uses (run_id);

-- Updated with every status change, because counting a million rows is too slow
-- for a page. Instead of a wait reason, "acknowledged" counts acknowledged failed
-- runs, "stubborn" runs with repeated attempts, and "silent" active runs without
-- recent progress.
CREATE TABLE run_counts (
    status      TEXT    NOT NULL,
    wait_reason TEXT    NOT NULL,
    n           INTEGER NOT NULL,
    PRIMARY KEY (status, wait_reason)
) STRICT, WITHOUT ROWID;

-- The number of runs per half hour, version, and final status, for charts. A run
-- that is resumed and ends again counts twice. Dry runs do not count.
CREATE TABLE run_outcomes (
    plan_id    INTEGER NOT NULL REFERENCES plans (id) ON DELETE CASCADE,
    slot       INTEGER NOT NULL, -- half hours since 1970
    status     TEXT    NOT NULL,
    version_id INTEGER NOT NULL,
    n          INTEGER NOT NULL,
    PRIMARY KEY (plan_id, slot, status, version_id)
) STRICT, WITHOUT ROWID;

-- Usage and cost of model calls per period, plan, agent, provider, and model. The
-- calls of a child run count for its own plan only.
-- Serves SpendCut, SpendList, SpendSeed, SpendPrune.
CREATE TABLE spend (
    grain         INTEGER NOT NULL CHECK (grain IN (0, 1)), -- 0: half hours, 1: days in UTC
    slot          INTEGER NOT NULL, -- half hours or days since 1970
    plan_id       INTEGER NOT NULL REFERENCES plans (id) ON DELETE CASCADE,
    agent         TEXT    NOT NULL,
    provider      TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    calls         INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost          REAL    NOT NULL,
    PRIMARY KEY (grain, slot, plan_id, agent, provider, model)
) STRICT, WITHOUT ROWID;

-- The same for each label that a run had at the time of the call.
-- Serves SpendLabelCut, SpendLabelList, SpendLabelSeed, SpendLabelPrune.
CREATE TABLE spend_labels (
    grain         INTEGER NOT NULL CHECK (grain IN (0, 1)),
    slot          INTEGER NOT NULL,
    key           TEXT    NOT NULL,
    value         TEXT    NOT NULL,
    plan_id       INTEGER NOT NULL REFERENCES plans (id) ON DELETE CASCADE,
    agent         TEXT    NOT NULL,
    provider      TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    calls         INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost          REAL    NOT NULL,
    PRIMARY KEY (grain, slot, key, value, plan_id, agent, provider, model)
) STRICT, WITHOUT ROWID;

-- Acknowledged failure groups: a plan, a node, a code, and a fingerprint (empty:
-- any). The runs of a group need no attention until they fail again.
CREATE TABLE failure_acks (
    plan_id    INTEGER NOT NULL REFERENCES plans (id) ON DELETE CASCADE,
    node       TEXT    NOT NULL,
    error_code TEXT    NOT NULL,
    fingerprint TEXT   NOT NULL DEFAULT '',
    headline   TEXT    NOT NULL DEFAULT '', -- of the newest run
    message    TEXT, -- headline as a format and its arguments
    actor      TEXT    NOT NULL,
    note       TEXT    NOT NULL,
    runs       INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (plan_id, node, error_code, fingerprint)
) STRICT, WITHOUT ROWID;

-- Serves FailureAckList.
CREATE INDEX failure_acks_by_age ON failure_acks (at);

-- Notes of people about runs.
CREATE TABLE run_notes (
    id     INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    actor  TEXT    NOT NULL,
    text   TEXT    NOT NULL,
    at     INTEGER NOT NULL
) STRICT;

-- Serves NoteCount, NoteList.
CREATE INDEX run_notes_by_run ON run_notes (run_id, id);
-- Serves NoteRecent.
CREATE INDEX run_notes_by_age ON run_notes (at);

-- The journal. It is append-only, and a rowid table with one unique index. A table
-- clustered by run would rewrite a page per row.
CREATE TABLE step_results (
    id            INTEGER PRIMARY KEY,
    run_id        INTEGER NOT NULL REFERENCES runs (id) ON DELETE RESTRICT,
    seq           INTEGER NOT NULL,
    kind          TEXT    NOT NULL,
    node          TEXT    NOT NULL,
    visit         INTEGER NOT NULL,
    item          INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    substep       INTEGER NOT NULL,
    status        TEXT    NOT NULL,
    final         INTEGER NOT NULL,
    effect        TEXT    NOT NULL,
    idem_key      TEXT,
    input         TEXT, -- JSON, or @ and the hash of a payload
    output        TEXT,
    decision      TEXT,
    failure       TEXT,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost          REAL    NOT NULL,
    agent         TEXT,
    due_at        INTEGER NOT NULL,
    ref           TEXT,
    actor         TEXT,
    reason        TEXT,
    log           TEXT,
    started_at    INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    audit_seq     INTEGER NOT NULL, -- the audit event that covers the row; 0: none
    hash          BLOB    NOT NULL,
    CONSTRAINT seq_is_unique UNIQUE (run_id, seq)
) STRICT;

-- Failed attempts, also if a retry succeeded or an edge handled the failure.
-- Serves Steps.
CREATE INDEX step_results_that_failed ON step_results (run_id, seq) WHERE status = 'failed';

-- +goose StatementBegin
CREATE TRIGGER step_results_are_immutable BEFORE UPDATE ON step_results
BEGIN
    SELECT raise(ABORT, 'the journal is append-only');
END;
-- +goose StatementEnd

-- Retention marks a run as purged before it deletes the journal.
-- +goose StatementBegin
CREATE TRIGGER step_results_are_kept BEFORE DELETE ON step_results
WHEN (SELECT purged_at FROM runs WHERE id = old.run_id) = 0
BEGIN
    SELECT raise(ABORT, 'the journal is append-only');
END;
-- +goose StatementEnd

-- Values over 4 KiB, by the SHA-256 of their text. All rows with the same value
-- share it.
CREATE TABLE payloads (
    id         INTEGER PRIMARY KEY,
    hash       BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    size       INTEGER NOT NULL,
    encoding   TEXT    NOT NULL CHECK (encoding IN ('raw', 'zstd')),
    data       BLOB    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- The runs that use a payload. It is deleted with the last of them.
CREATE TABLE payload_refs (
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    hash   BLOB    NOT NULL REFERENCES payloads (hash) ON DELETE RESTRICT,
    PRIMARY KEY (run_id, hash)
) STRICT, WITHOUT ROWID;

-- Serves PayloadDelete, PayloadOnlyOf, PayloadOrphans, PayloadTotals.
CREATE INDEX payload_refs_by_hash ON payload_refs (hash);

CREATE TABLE handoffs (
    id         INTEGER PRIMARY KEY,
    public_id  TEXT    NOT NULL UNIQUE,
    run_id     INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    from_agent TEXT    NOT NULL,
    to_agent   TEXT    NOT NULL,
    node       TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    context    TEXT    NOT NULL,
    at         INTEGER NOT NULL
) STRICT;

-- Serves HandoffDelete, HandoffList.
CREATE INDEX handoffs_by_run ON handoffs (run_id, id);
-- Serves HandoffsOf.
CREATE INDEX handoffs_by_from ON handoffs (from_agent, id);
-- Serves HandoffsOf.
CREATE INDEX handoffs_by_to ON handoffs (to_agent, id);

-- Messages between agents. Every invocation and handoff is a request. Its result
-- is a response or an error with the id of the request.
CREATE TABLE messages (
    id           INTEGER PRIMARY KEY,
    public_id    TEXT    NOT NULL UNIQUE,
    run_id       INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    seq          INTEGER NOT NULL,
    node         TEXT    NOT NULL,
    visit        INTEGER NOT NULL,
    item         INTEGER NOT NULL,
    correlation  TEXT    NOT NULL,
    from_agent   TEXT    NOT NULL,
    to_agent     TEXT    NOT NULL,
    type         TEXT    NOT NULL CHECK (type IN ('request', 'response', 'notification', 'error', 'ack')),
    payload      TEXT, -- JSON, or @ and the hash of a payload
    priority     TEXT    NOT NULL CHECK (priority IN ('low', 'medium', 'high', 'critical')),
    ttl_ms       INTEGER NOT NULL, -- 0: none
    retry_count  INTEGER NOT NULL,
    requires_ack INTEGER NOT NULL CHECK (requires_ack IN (0, 1)),
    plan_context INTEGER NOT NULL CHECK (plan_context IN (0, 1)), -- the context of a step of a step plan
    at           INTEGER NOT NULL
) STRICT;

-- Serves HandoffsOf, Handoff, MessageDelete, MessageList.
CREATE INDEX messages_by_run ON messages (run_id, id);

-- The memory of sessions: one row per run. scope is a hash of owner and session,
-- so that one word of the index covers both.
CREATE TABLE memory (
    id      INTEGER PRIMARY KEY,
    run_id  INTEGER NOT NULL UNIQUE REFERENCES runs (id) ON DELETE CASCADE,
    scope   TEXT    NOT NULL,
    owner   TEXT    NOT NULL,
    session TEXT    NOT NULL,
    input   TEXT    NOT NULL,
    output  TEXT    NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

-- Serves MemoryCount, MemoryForget, MemoryLatest.
CREATE INDEX memory_by_scope ON memory (scope, id);
-- Serves MemorySessionAfter.
CREATE INDEX memory_by_owner ON memory (owner, session);

CREATE VIRTUAL TABLE memory_words USING fts5 (scope, input, output, content = 'memory', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2');

-- +goose StatementBegin
CREATE TRIGGER memory_is_indexed AFTER INSERT ON memory
BEGIN
    INSERT INTO memory_words (rowid, scope, input, output) VALUES (new.id, new.scope, new.input, new.output);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER memory_is_forgotten AFTER DELETE ON memory
BEGIN
    INSERT INTO memory_words (memory_words, rowid, scope, input, output) VALUES ('delete', old.id, old.scope, old.input, old.output);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER memory_is_immutable BEFORE UPDATE ON memory
BEGIN
    SELECT raise(ABORT, 'memory is append-only');
END;
-- +goose StatementEnd

-- Durations and tokens of completed skills, for the estimates of planners. bound
-- is the tool or agent that executed the skill. Only the newest rows of each pair
-- are kept, longer than the runs.
CREATE TABLE skill_runs (
    id     INTEGER PRIMARY KEY,
    skill  TEXT    NOT NULL,
    bound  TEXT    NOT NULL,
    ms     INTEGER NOT NULL CHECK (ms >= 0),
    tokens INTEGER NOT NULL CHECK (tokens >= 0),
    at     INTEGER NOT NULL
) STRICT;

-- Serves SkillRunList, SkillRunTrim.
CREATE INDEX skill_runs_by_skill ON skill_runs (skill, bound, id);

CREATE TABLE approvals (
    id         INTEGER PRIMARY KEY,
    public_id  TEXT    NOT NULL UNIQUE,
    run_id     INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    plan_key   TEXT    NOT NULL,
    node       TEXT    NOT NULL,
    visit      INTEGER NOT NULL,
    item       INTEGER NOT NULL,
    message    TEXT    NOT NULL,
    form       TEXT    CHECK (form IS NULL OR json_valid(form)),
    tool       TEXT    NOT NULL,
    arguments  TEXT    CHECK (arguments IS NULL OR json_valid(arguments)),
    digest     TEXT    NOT NULL,
    status     TEXT    NOT NULL CHECK (status IN ('pending', 'approved', 'rejected', 'changes_requested', 'expired', 'cancelled')),
    on_timeout TEXT    NOT NULL,
    due_at     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_by TEXT    NOT NULL,
    decided_at INTEGER NOT NULL,
    decided_by TEXT    NOT NULL,
    comment    TEXT    NOT NULL,
    comment_text TEXT  NOT NULL, -- a comment of kairosd with its arguments; empty: a person wrote it
    entered    TEXT    CHECK (entered IS NULL OR json_valid(entered)),
    rev        INTEGER NOT NULL,
    agent      TEXT    NOT NULL, -- the agent that requests approval; empty: the plan
    may_ask    INTEGER NOT NULL CHECK (may_ask IN (0, 1)), -- changes can be requested
    label      TEXT    NOT NULL, -- the plan's label of a risk or an amount
    answers    TEXT    NOT NULL CHECK (json_valid(answers)), -- the possible answers
    answer     TEXT    NOT NULL, -- the id of the given answer; empty: none
    assignee   TEXT    NOT NULL DEFAULT '', -- empty: anyone with the role
    due_key    INTEGER NOT NULL, -- due_at, or the largest time without a deadline
    seal       BLOB    NOT NULL, -- of the request, while it is pending
    CONSTRAINT decided_unless_pending CHECK ((status = 'pending') = (decided_at = 0))
) STRICT;

-- Serves Approvals, ApprovalCountPending, ApprovalsPending.
CREATE INDEX approvals_by_status ON approvals (status, id);
-- Serves Approvals, ApprovalPurge.
CREATE INDEX approvals_by_run ON approvals (run_id, id);
-- Pending requests in the order of the inbox: deadline, then age.
-- Serves Approvals.
CREATE INDEX approvals_pending ON approvals (due_key, id) WHERE status = 'pending';
-- Serves Approvals.
CREATE INDEX approvals_pending_of_plan ON approvals (plan_key, due_key, id) WHERE status = 'pending';
-- Serves Approvals.
CREATE INDEX approvals_pending_of_agent ON approvals (agent, due_key, id) WHERE status = 'pending' AND agent <> '';
-- Serves Approvals.
CREATE INDEX approvals_pending_of_person ON approvals (assignee, due_key, id) WHERE status = 'pending' AND assignee <> '';
-- Decided requests, newest first.
-- Serves Approvals.
CREATE INDEX approvals_decided ON approvals (id) WHERE status <> 'pending';
-- Serves Approvals.
CREATE INDEX approvals_decided_of_plan ON approvals (plan_key, id) WHERE status <> 'pending';
-- Serves Approvals.
CREATE INDEX approvals_decided_of_step ON approvals (plan_key, node, tool, id) WHERE status <> 'pending';

-- One row per checkpoint and per action of an operator, in commit order. Each
-- commit adds one link to the chain: mac covers all rows since the last row with
-- a mac.
CREATE TABLE audit_events (
    seq       INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    run_id    INTEGER,
    first_seq INTEGER NOT NULL,
    run_seq   INTEGER NOT NULL,
    digest    BLOB,
    action    TEXT    NOT NULL,
    actor     TEXT    NOT NULL,
    source    TEXT    NOT NULL,
    object    TEXT    NOT NULL,
    result    TEXT    NOT NULL,
    reason    TEXT    NOT NULL,
    detail    TEXT,
    request   TEXT    NOT NULL DEFAULT '', -- the id of the request; empty: of the engine
    address   TEXT    NOT NULL DEFAULT '', -- its address; empty: of the engine
    mac       BLOB
) STRICT;

-- Events with a digest cover journal rows, which refer to them in audit_seq. An
-- index over all events would reduce the commit rate by a third.
-- Serves AuditOfRun.
CREATE INDEX audit_events_by_run ON audit_events (run_id, seq) WHERE digest IS NULL AND run_id IS NOT NULL;
-- Serves AuditEvents, DeliveryEvents.
CREATE INDEX audit_events_of_people ON audit_events (seq) WHERE action <> 'checkpoint';
-- Events of people and programs, and rare events. The events of every run are in
-- neither index, because searches do not need them and indexing has a cost.
-- Serves AuditEvents.
CREATE INDEX audit_events_by_actor ON audit_events (actor, seq) WHERE actor <> 'system';
-- Serves AuditEvents, AuditNewestOf.
CREATE INDEX audit_events_by_action ON audit_events (action, seq) WHERE action <> 'checkpoint' AND action <> 'run.status' AND action <> 'run.created';
-- Serves AuditEvents.
CREATE INDEX audit_events_by_request ON audit_events (request, seq) WHERE request <> '';
-- Serves AuditEvents.
CREATE INDEX audit_events_by_address ON audit_events (address, seq) WHERE address <> '';
-- Serves AuditEvents.
CREATE INDEX audit_events_not_ok ON audit_events (result, seq) WHERE result <> 'ok';

-- +goose StatementBegin
CREATE TRIGGER audit_events_are_immutable BEFORE UPDATE ON audit_events
BEGIN
    SELECT raise(ABORT, 'the audit log is append-only');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER audit_events_are_kept BEFORE DELETE ON audit_events
WHEN old.seq > coalesce((SELECT cast(json_extract(value, '$.seq') AS integer) FROM settings WHERE key = 'audit_cut'), 0)
BEGIN
    SELECT raise(ABORT, 'the audit log is append-only');
END;
-- +goose StatementEnd

CREATE TABLE users (
    id            TEXT    NOT NULL PRIMARY KEY,
    name          TEXT    NOT NULL UNIQUE,
    role          TEXT    NOT NULL CHECK (role IN ('viewer', 'operator', 'author', 'admin')),
    password_hash TEXT    NOT NULL,
    disabled      INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    created_at    INTEGER NOT NULL,
    last_seen_at  INTEGER NOT NULL,
    settings      TEXT    NOT NULL CHECK (json_valid(settings)),
    -- the identity at an identity provider; both empty: not linked
    issuer        TEXT    NOT NULL,
    subject       TEXT    NOT NULL,
    seal          BLOB    NOT NULL, -- HMAC of the row, with a key that is not in the database
    CHECK ((issuer = '') = (subject = ''))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX users_by_identity ON users (issuer, subject) WHERE subject <> '';

CREATE TABLE sessions (
    id_hash    TEXT    NOT NULL PRIMARY KEY,
    user_id    TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    address    TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    seal       BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

-- Serves SessionDeleteOfUser, SessionList.
CREATE INDEX sessions_by_user ON sessions (user_id, created_at);

CREATE TABLE tokens (
    id           TEXT    NOT NULL PRIMARY KEY,
    name         TEXT    NOT NULL,
    prefix       TEXT    NOT NULL,
    secret_hash  TEXT    NOT NULL UNIQUE,
    role         TEXT    NOT NULL CHECK (role IN ('viewer', 'operator', 'author', 'admin')),
    scopes       TEXT    NOT NULL CHECK (json_valid(scopes)),
    created_by   TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    last_used_from TEXT  NOT NULL, -- an address
    revoked_at   INTEGER NOT NULL,
    seal         BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

-- Second factors of users: encrypted and authenticated with a key that is not in the
-- database, and bound to the user.
CREATE TABLE second_factors (
    user_id TEXT NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    sealed  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Circuits that have failed, or that a person has opened.
CREATE TABLE circuits (
    subject         TEXT    NOT NULL, -- such as tool:http
    part            TEXT    NOT NULL, -- the host, if a tool has a circuit for each host; otherwise empty
    state           TEXT    NOT NULL CHECK (state IN ('closed', 'open', 'half_open')),
    failures_in_row INTEGER NOT NULL,
    since           INTEGER NOT NULL, -- when it was last closed
    open_until      INTEGER NOT NULL,
    last_code       TEXT    NOT NULL, -- of the last counted failure
    last_message    TEXT    NOT NULL,
    last_text       TEXT    NOT NULL, -- the message with its arguments; empty: it is not translated
    last_error_at   INTEGER NOT NULL,
    PRIMARY KEY (subject, part)
) STRICT, WITHOUT ROWID;

-- Accepted definitions of the tools of MCP servers.
CREATE TABLE tool_pins (
    server     TEXT NOT NULL,
    tool       TEXT NOT NULL,
    hash       TEXT NOT NULL, -- of the definition
    definition TEXT NOT NULL CHECK (json_valid(definition)),
    PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;

-- Operations with an idempotency key. Each row commits with the effect of the operation.
CREATE TABLE operations (
    principal  TEXT    NOT NULL,
    operation  TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    digest     TEXT    NOT NULL, -- of the request, hex SHA-256
    object     TEXT    NOT NULL, -- id of the object that was changed or created
    created_at INTEGER NOT NULL,
    PRIMARY KEY (principal, operation, key)
) STRICT, WITHOUT ROWID;

-- Serves OperationsDeleteBefore.
CREATE INDEX operations_by_age ON operations (created_at);

-- Bulk operations, and the runs of each.
CREATE TABLE bulks (
    id         INTEGER PRIMARY KEY,
    public_id  TEXT    NOT NULL UNIQUE,
    action     TEXT    NOT NULL,
    query      TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    role       TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    canary     INTEGER NOT NULL CHECK (canary IN (0, 1)),
    rate       INTEGER NOT NULL,
    labels     TEXT    NOT NULL CHECK (json_valid(labels)), -- added to the runs
    not_before INTEGER NOT NULL, -- 0: at once
    provider   TEXT    NOT NULL, -- continues when this provider accepts calls; empty: none
    tool       TEXT    NOT NULL, -- the same for a tool, or one host of it: 'http api.example'
    state      TEXT    NOT NULL CHECK (state IN ('canary', 'running', 'stopped', 'done')),
    note       TEXT    NOT NULL DEFAULT '',
    total      INTEGER NOT NULL,
    acted      INTEGER NOT NULL DEFAULT 0,
    refused    INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    ended_at   INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Serves BulkUnderWay.
CREATE INDEX bulks_under_way ON bulks (id) WHERE ended_at = 0;

CREATE TABLE bulk_items (
    bulk_id  INTEGER NOT NULL REFERENCES bulks (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    run      TEXT    NOT NULL,
    rev      INTEGER NOT NULL,
    node     TEXT    NOT NULL,
    code     TEXT    NOT NULL,
    state    TEXT    NOT NULL CHECK (state IN ('pending', 'acted', 'refused')),
    result   TEXT    NOT NULL DEFAULT '',
    detail   TEXT    NOT NULL DEFAULT '',
    message  TEXT, -- detail as a format and its arguments
    at       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (bulk_id, position)
) STRICT, WITHOUT ROWID;

-- Serves BulkItemListIn.
CREATE INDEX bulk_items_in ON bulk_items (bulk_id, state, position);

-- Drafts: the request, the progress of planning, and the outcome.
CREATE TABLE drafts (
    id         INTEGER PRIMARY KEY,
    public_id  TEXT    NOT NULL UNIQUE,
    request    TEXT    NOT NULL CHECK (json_valid(request)),
    actor      TEXT    NOT NULL,
    role       TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    parent     TEXT    NOT NULL, -- the draft that it refines or repeats; empty: none
    revision   INTEGER NOT NULL CHECK (revision > 0),
    state      TEXT    NOT NULL CHECK (state IN ('planning', 'ready', 'failed', 'accepted', 'discarded')),
    begun      INTEGER NOT NULL DEFAULT 0, -- processes that began planning
    progress   TEXT    NOT NULL DEFAULT '[]' CHECK (json_valid(progress)),
    outcome    TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(outcome)),
    hash       TEXT    NOT NULL DEFAULT '', -- of the stored version
    created_at INTEGER NOT NULL,
    ended_at   INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Serves DraftUnderWay.
CREATE INDEX drafts_under_way ON drafts (id) WHERE state = 'planning';
-- Serves DraftOpen.
CREATE INDEX drafts_open ON drafts (id) WHERE state IN ('planning', 'ready', 'failed');
-- Serves DraftByVersion.
CREATE INDEX drafts_by_version ON drafts (hash, id) WHERE hash <> '';
-- Serves DraftChildren.
CREATE INDEX drafts_by_parent ON drafts (parent, id) WHERE parent <> '';

-- Schedules start runs of a plan at the times of a cron expression, the slots.
CREATE TABLE schedules (
    id            INTEGER PRIMARY KEY,
    public_id     TEXT    NOT NULL UNIQUE,
    key           TEXT    NOT NULL UNIQUE,
    plan_id       INTEGER NOT NULL REFERENCES plans (id) ON DELETE RESTRICT,
    version       INTEGER NOT NULL, -- version of the runs; 0: the current one
    cron          TEXT    NOT NULL,
    zone          TEXT    NOT NULL,
    jitter        INTEGER NOT NULL CHECK (jitter >= 0), -- microseconds
    input         TEXT    CHECK (input IS NULL OR json_valid(input)),
    profile       TEXT    NOT NULL, -- of the runs; empty: none
    labels        TEXT    NOT NULL CHECK (json_valid(labels)),
    overlap       TEXT    NOT NULL CHECK (overlap IN ('skip', 'queue', 'cancel_oldest')),
    catch_up      TEXT    NOT NULL CHECK (catch_up IN ('default', 'none', 'last', 'all', 'ask')),
    paused_at     INTEGER NOT NULL DEFAULT 0,
    paused_by     TEXT    NOT NULL DEFAULT '',
    paused_reason TEXT    NOT NULL DEFAULT '',
    next_at       INTEGER NOT NULL, -- the next slot; 0: none
    due_at        INTEGER NOT NULL, -- the next slot with its jitter
    actor         TEXT    NOT NULL, -- who changed it last
    declared      INTEGER NOT NULL DEFAULT 0, -- the plan declares it
    rev           INTEGER NOT NULL DEFAULT 1,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL
) STRICT;

-- Serves ScheduleDue, ScheduleNextDue.
CREATE INDEX schedules_due ON schedules (due_at) WHERE due_at <> 0 AND paused_at = 0;
-- Serves ScheduleDeclared.
CREATE INDEX schedules_declared ON schedules (plan_id) WHERE declared <> 0;

-- Slots that were due. The primary key ensures that a slot starts one run.
CREATE TABLE schedule_slots (
    schedule_id INTEGER NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
    slot        INTEGER NOT NULL, -- microseconds
    state       TEXT    NOT NULL CHECK (state IN ('started', 'skipped', 'failed')),
    run_id      INTEGER NOT NULL DEFAULT 0, -- the run of the slot; 0: none
    reason      TEXT    NOT NULL DEFAULT '', -- why no run started
    at          INTEGER NOT NULL,
    PRIMARY KEY (schedule_id, slot)
) STRICT, WITHOUT ROWID;

-- Consecutive slots that could not start in time. A decision starts none, the last, or all of them.
CREATE TABLE missed_slots (
    id          INTEGER PRIMARY KEY,
    public_id   TEXT    NOT NULL UNIQUE,
    schedule_id INTEGER NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
    first_slot  INTEGER NOT NULL,
    last_slot   INTEGER NOT NULL,
    slots       INTEGER NOT NULL CHECK (slots > 0),
    more        INTEGER NOT NULL CHECK (more IN (0, 1)), -- more slots exist than were counted
    decision    TEXT    NOT NULL CHECK (decision IN ('', 'none', 'last', 'all')), -- empty: an operator must decide
    decided_by  TEXT    NOT NULL,
    decided_at  INTEGER NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;

-- Serves MissedOpen. A schedule has at most one open entry.
CREATE UNIQUE INDEX missed_slots_open ON missed_slots (schedule_id) WHERE decision = '';
-- Serves MissedList.
CREATE INDEX missed_slots_by_schedule ON missed_slots (schedule_id, id);

-- Notifications: a message per channel, until it is delivered or has failed.
CREATE TABLE deliveries (
    id         TEXT    NOT NULL PRIMARY KEY,
    channel    TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    seq        INTEGER NOT NULL, -- the audit event of the message; 0: a test, or a summary of further messages
    dedup_key  TEXT    NOT NULL, -- equal for messages about runs that failed in the same way
    repeats    INTEGER NOT NULL, -- later messages with the key that were not sent
    body       TEXT    NOT NULL CHECK (json_valid(body)),
    status     TEXT    NOT NULL CHECK (status IN ('pending', 'sent', 'failed')),
    attempts   INTEGER NOT NULL,
    due_at     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at   INTEGER NOT NULL,
    error      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX deliveries_once ON deliveries (channel, seq) WHERE seq > 0;
-- Serves DeliveryDue, DeliveryNext.
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE status = 'pending';
-- Serves DeliveryByDedupKey.
CREATE INDEX deliveries_by_dedup_key ON deliveries (channel, dedup_key, created_at);
-- Serves DeliveryList.
CREATE INDEX deliveries_list ON deliveries (channel, created_at, id);
-- Serves DeliveryWithMore.
CREATE INDEX deliveries_repeated ON deliveries (created_at) WHERE repeats > 0;

-- Saved views: named filters of the list of runs.
CREATE TABLE saved_views (
    owner      TEXT    NOT NULL, -- a user's name; empty: shared
    name       TEXT    NOT NULL,
    query      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;

-- Display settings of users, and the times of their last visits.
CREATE TABLE preferences (
    owner TEXT NOT NULL, -- a user's name
    key   TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;

-- What arrives from other systems.

-- Named signals. One that no step waits for is kept until it expires.
CREATE TABLE signals (
    id         INTEGER PRIMARY KEY,
    public_id  TEXT    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    key        TEXT    NOT NULL, -- may be empty
    data       TEXT    NOT NULL CHECK (json_valid(data)),
    deliver    TEXT    NOT NULL CHECK (deliver IN ('one', 'all')),
    source     TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    status     TEXT    NOT NULL CHECK (status IN ('waiting', 'matched', 'unmatched')),
    size       INTEGER NOT NULL, -- bytes that count towards the limit of early signals
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

-- Serves SignalMatchable, SignalCountMatchable, SignalNamesMatchable.
CREATE INDEX signals_waiting ON signals (name, key, id) WHERE status = 'waiting';
-- Serves SignalEarly, SignalExpire.
CREATE INDEX signals_early ON signals (expires_at, size) WHERE status = 'waiting';
-- Serves SignalDelete.
CREATE INDEX signals_settled ON signals (created_at) WHERE status <> 'waiting';

-- Waits of steps for a signal.
CREATE TABLE signal_waits (
    id     TEXT    NOT NULL PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    name   TEXT    NOT NULL,
    key    TEXT    NOT NULL,
    node   TEXT    NOT NULL,
    visit  INTEGER NOT NULL,
    item   INTEGER NOT NULL,
    since  INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    signal TEXT    NOT NULL DEFAULT '' -- public ID of the signal that is on its way to a run which another program executes, or empty
) STRICT, WITHOUT ROWID;

-- Serves WaitMatchable, WaitCount, WaitList, SignalNamesMatchable.
CREATE INDEX signal_waits_by_name ON signal_waits (name, key, since, id);
-- Serves WaitsMatched, SignalExpire.
CREATE INDEX signal_waits_by_signal ON signal_waits (signal) WHERE signal <> '';

-- The waits that a signal ended. A step of a run gets a signal once, in whichever visit.
CREATE TABLE signal_matches (
    signal_id INTEGER NOT NULL REFERENCES signals (id) ON DELETE CASCADE,
    run_id    INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    node      TEXT    NOT NULL,
    item      INTEGER NOT NULL,
    visit     INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (signal_id, run_id, node, item)
) STRICT, WITHOUT ROWID;

-- Runs whose callback address was used. It can be used once.
CREATE TABLE callbacks (
    run_id INTEGER NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    signal TEXT    NOT NULL, -- public ID; the signal may be deleted
    at     INTEGER NOT NULL
) STRICT;

-- Addresses to which other systems deliver events.
CREATE TABLE hooks (
    id            INTEGER PRIMARY KEY,
    public_id     TEXT    NOT NULL UNIQUE,
    key           TEXT    NOT NULL UNIQUE,
    plan_id       INTEGER REFERENCES plans (id) ON DELETE RESTRICT, -- null: deliveries send a signal
    version       INTEGER NOT NULL, -- 0: the current one
    scheme        TEXT    NOT NULL CHECK (scheme IN ('standard', 'github', 'stripe', 'slack', 'bearer', 'files')),
    secret        TEXT    NOT NULL, -- name in the configuration; empty: scheme files
    files         TEXT    NOT NULL, -- pattern of paths; empty: another scheme
    settle        INTEGER NOT NULL, -- microseconds
    filter        TEXT    NOT NULL,
    input         TEXT    NOT NULL,
    signal        TEXT    NOT NULL,
    signal_key    TEXT    NOT NULL,
    profile       TEXT    NOT NULL, -- of the runs; empty: none
    labels        TEXT    NOT NULL CHECK (json_valid(labels)),
    paused_at     INTEGER NOT NULL DEFAULT 0,
    paused_by     TEXT    NOT NULL DEFAULT '',
    paused_reason TEXT    NOT NULL DEFAULT '',
    actor         TEXT    NOT NULL,
    rev           INTEGER NOT NULL DEFAULT 1,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL
) STRICT;

-- Requests to hooks, with the reason why each was accepted or refused.
CREATE TABLE hook_deliveries (
    id          INTEGER PRIMARY KEY,
    public_id   TEXT    NOT NULL UNIQUE,
    hook_id     INTEGER NOT NULL REFERENCES hooks (id) ON DELETE CASCADE,
    key         TEXT    NOT NULL, -- ID of the event, or of a replay, its original and its operation; empty: unknown
    event       TEXT    NOT NULL, -- ID of the event at the sender, also of a replay; empty: unknown
    state       TEXT    NOT NULL CHECK (state IN ('accepted', 'duplicate', 'filtered', 'refused')),
    reason      TEXT    NOT NULL,
    message     TEXT    NOT NULL,
    size        INTEGER NOT NULL,
    remote      TEXT    NOT NULL,
    verified    INTEGER NOT NULL CHECK (verified IN (0, 1)),
    run_id      INTEGER NOT NULL DEFAULT 0, -- 0: none
    signal      TEXT    NOT NULL,
    replay_of   TEXT    NOT NULL,
    received_at INTEGER NOT NULL
) STRICT;

-- Serves HookDeliveryAccepted. Of the deliveries with one key, one is accepted.
CREATE UNIQUE INDEX hook_deliveries_once ON hook_deliveries (hook_id, key) WHERE state = 'accepted';
-- Serves HookReplayable.
CREATE INDEX hook_deliveries_by_event ON hook_deliveries (hook_id, event, state);
-- Serves HookDeliveryList, HookReplayable.
CREATE INDEX hook_deliveries_by_hook ON hook_deliveries (hook_id, id);
-- Serves HookDeliveryDelete.
CREATE INDEX hook_deliveries_by_age ON hook_deliveries (received_at);
-- Serves HookDeliveryOfRun.
CREATE INDEX hook_deliveries_by_run ON hook_deliveries (run_id) WHERE state = 'accepted' AND run_id <> 0;

-- What lists of deliveries do not need.
CREATE TABLE hook_contents (
    delivery_id INTEGER PRIMARY KEY REFERENCES hook_deliveries (id) ON DELETE CASCADE,
    headers     TEXT    NOT NULL CHECK (json_valid(headers)),
    body        TEXT    NOT NULL
) STRICT;

-- Files that were delivered to a hook. Unlike deliveries, they are kept as long as the file exists.
CREATE TABLE hook_files (
    hook_id INTEGER NOT NULL REFERENCES hooks (id) ON DELETE CASCADE,
    event   TEXT    NOT NULL, -- path, size, and modification time
    gone_at INTEGER NOT NULL DEFAULT 0, -- 0: the file exists
    PRIMARY KEY (hook_id, event)
) STRICT, WITHOUT ROWID;

-- Serves HookFileDelete.
CREATE INDEX hook_files_by_age ON hook_files (gone_at) WHERE gone_at <> 0;
-- Serves HookFileList.
CREATE INDEX hook_files_present ON hook_files (hook_id, event) WHERE gone_at = 0;

-- Limits on the usage of model calls in windows of an hour, a day, or a month.
CREATE TABLE budgets (
    id         INTEGER PRIMARY KEY,
    public_id  TEXT    NOT NULL UNIQUE,
    key        TEXT    NOT NULL UNIQUE,
    scope      TEXT    NOT NULL, -- all, plan:KEY, agent:ID, provider:NAME, or label:KEY=VALUE
    period     TEXT    NOT NULL CHECK (period IN ('hour', 'day', 'month')),
    zone       TEXT    NOT NULL,
    unit       TEXT    NOT NULL CHECK (unit IN ('cost', 'tokens')),
    soft       REAL    NOT NULL, -- 0: none
    degrade    REAL    NOT NULL,
    hard       REAL    NOT NULL,
    degrade_to TEXT    NOT NULL, -- PROVIDER/MODEL
    actor      TEXT    NOT NULL,
    rev        INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- The usage in a window. It changes in the transaction of the journal rows with the usage.
CREATE TABLE budget_windows (
    budget_id  INTEGER NOT NULL REFERENCES budgets (id) ON DELETE CASCADE,
    start_at   INTEGER NOT NULL,
    end_at     INTEGER NOT NULL,
    calls      INTEGER NOT NULL DEFAULT 0,
    used       REAL    NOT NULL DEFAULT 0,
    estimated  REAL    NOT NULL DEFAULT 0, -- the part of used of calls whose usage is unknown
    extra      REAL    NOT NULL DEFAULT 0, -- added to the hard line of this window
    soft_at    INTEGER NOT NULL DEFAULT 0, -- when the usage reached the line
    degrade_at INTEGER NOT NULL DEFAULT 0,
    hard_at    INTEGER NOT NULL DEFAULT 0, -- when the first run had to wait
    PRIMARY KEY (budget_id, start_at)
) STRICT, WITHOUT ROWID;

-- What calls in flight have reserved.
CREATE TABLE budget_holds (
    call      TEXT    NOT NULL,
    budget_id INTEGER NOT NULL REFERENCES budgets (id) ON DELETE CASCADE,
    start_at  INTEGER NOT NULL,
    end_at    INTEGER NOT NULL,
    amount    REAL    NOT NULL,
    PRIMARY KEY (call, budget_id)
) STRICT, WITHOUT ROWID;

-- Runs that wait for a budget.
CREATE TABLE budget_waits (
    run_id    INTEGER NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    budget_id INTEGER NOT NULL REFERENCES budgets (id) ON DELETE CASCADE,
    since     INTEGER NOT NULL,
    start_at  INTEGER NOT NULL, -- the window that is used up
    end_at    INTEGER NOT NULL,
    least     REAL    NOT NULL  -- what the next call needs
) STRICT;

-- Serves BudgetWaiters, BudgetList, BudgetNamed.
CREATE INDEX budget_waits_by_budget ON budget_waits (budget_id, run_id);

-- +goose Down
DROP TABLE budget_waits;
DROP TABLE budget_holds;
DROP TABLE budget_windows;
DROP TABLE budgets;
DROP TABLE hook_files;
DROP TABLE hook_contents;
DROP TABLE hook_deliveries;
DROP TABLE hooks;
DROP TABLE callbacks;
DROP TABLE signal_matches;
DROP TABLE signal_waits;
DROP TABLE signals;
DROP TABLE preferences;
DROP TABLE saved_views;
DROP TABLE deliveries;
DROP TABLE missed_slots;
DROP TABLE schedule_slots;
DROP TABLE schedules;
DROP TABLE drafts;
DROP TABLE bulk_items;
DROP TABLE bulks;
DROP TABLE operations;
DROP TABLE tool_pins;
DROP TABLE circuits;
DROP TABLE second_factors;
DROP TABLE tokens;
DROP TABLE sessions;
DROP TABLE users;
DROP TRIGGER audit_events_are_kept;
DROP TABLE audit_events;
DROP TABLE approvals;
DROP TABLE skill_runs;
DROP TABLE memory_words;
DROP TABLE memory;
DROP TABLE messages;
DROP TABLE handoffs;
DROP TABLE payload_refs;
DROP TABLE payloads;
DROP TRIGGER step_results_are_kept;
DROP TABLE step_results;
DROP TABLE run_notes;
DROP TABLE failure_acks;
DROP TABLE spend_labels;
DROP TABLE spend;
DROP TABLE run_outcomes;
DROP TABLE run_uses;
DROP TABLE run_words;
DROP TABLE run_counts;
DROP TABLE run_labels;
DROP TABLE run_details;
DROP TABLE runs;
DROP TABLE plan_versions;
DROP TABLE plan_facts;
DROP TABLE plans;
DROP TABLE settings;
