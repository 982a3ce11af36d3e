// Package mcp offers the tools of MCP servers: processes that kairosd runs and
// talks to over their standard streams, and servers that are reached by
// streamable HTTP. A server is not trusted: its tools count as unsafe
// unless the configuration says otherwise, a definition that changes is refused
// until a person accepts it, and what it sends is bounded.
package mcp
