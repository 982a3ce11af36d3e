package domain

// StoredCircuit is a stored circuit with its subject.
type StoredCircuit struct {
	Subject string // the target of the calls, such as "tool:http"
	Circuit
	// LastCode, LastMessage, and LastText describe the last failure that counted. They are not
	// shortened.
	LastCode, LastMessage, LastText string
}

// ToolPin is an accepted definition of a tool of an MCP server.
type ToolPin struct {
	Server, Tool string
	Hash         string // of the definition
	Definition   RawJSON
}
