package planner

// Condition is a compiled condition of an edge or a `when:`.
type Condition struct{ Text string }

// Reference is a compiled reference such as ${output.a.b}.
type Reference struct{ Text string }

// Template is a compiled input: a JSON value whose strings may hold references.
type Template struct{ Source any }
