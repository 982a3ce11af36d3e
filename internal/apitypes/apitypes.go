// Package apitypes contains the bodies of the HTTP API that the server and its Go client share. The
// names of the types are those of the schemas in the OpenAPI description.
package apitypes

// List is a page of a list.
type List[T any] struct {
	Items      []T     `json:"items" doc:"The items of the page."`
	NextCursor *string `json:"nextCursor" doc:"The cursor of the next page; null on the last page."`
	HasMore    bool    `json:"hasMore" doc:"Whether there is a next page."`
}
