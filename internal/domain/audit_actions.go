package domain

// AuditActions lists the actions of audit records, grouped by object. Filters of the audit log
// accept and suggest them.
var AuditActions = []string{
	"access.denied", "approval.request_changes", "approval.assign", "approval.decide", "audit.cut", "audit.new_key", "audit.verify",
	"audit.verify.begin",
	"bulk.acknowledge", "bulk.cancel", "bulk.delete", "bulk.done", "bulk.label", "bulk.release", "bulk.rerun", "bulk.resume",
	"bulk.stopped",
	"checkpoint", "config.reload", "daemon.start",
	"demo.answer", "demo.begin", "demo.completed", "demo.failed", "demo.in_doubt", "demo.killed",
	"draft.accept", "draft.begin", "draft.discard", "draft.failed", "draft.ready",
	"failure.acknowledge", "failure.unacknowledge", "login", "logout", "maintenance.begin", "maintenance.end",
	"mcp.retry", "memory.forget", "node.resolve", "notification.test",
	"plan.accept", "plan.archive", "plan.pause", "plan.restore", "plan.save", "plan.unarchive", "plan.unpause", "plan.version",
	"provider.disable", "provider.enable",
	"run.acknowledge", "run.unacknowledge", "run.cancel", "run.confirm",
	"run.undo", "run.unpause", "run.create", "run.created", "run.damaged",
	"run.delete", "run.fork",
	"run.label", "run.limits", "run.note", "run.pause", "run.purge", "run.refuse", "run.release", "run.request",
	"run.rerun", "run.resume", "run.retry-now", "run.status", "schedule.backfill", "schedule.create", "schedule.delete",
	"schedule.failed", "schedule.missed", "schedule.pause", "schedule.resume", "schedule.skipped", "schedule.update",
	"secret.rotate", "session.confirm", "session.end", "setup",
	"store.backup", "store.checked", "store.restore_tested", "store.failed", "store.released", "store.restored", "store.retention",
	"store.rolled_back",
	"token.create", "token.revoke", "tool.accept", "tool.disable", "tool.enable", "user.create", "user.link", "user.login-link",
	"user.password", "user.second-factor", "user.update", "view.delete", "view.save",
}
