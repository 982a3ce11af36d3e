// Package mcp offers the tools of MCP servers. A server is a process that kairosd runs and
// connects to over standard streams, or an address that it reaches over streamable HTTP. A server
// is not trusted: its tools count as unsafe unless the configuration sets another class, a changed
// definition is refused until a person accepts it, and the amount of data it may send is limited.
package mcp
