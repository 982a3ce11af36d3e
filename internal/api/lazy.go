package api

import (
	"cmp"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"
)

// add registers an operation, immediately or at its first request. A process that calls few
// operations then does not build the schemas of all others, which take most of the time of [New]
// and several megabytes.
func (a *API) add(op huma.Operation, build func(huma.API)) {
	if !a.Lazy {
		build(a.huma)
		return
	}
	// Each operation has its own schemas, so that building one does not affect concurrent requests
	// to another.
	handler := sync.OnceValue(func() http.Handler {
		own := echo.New()
		own.HTTPErrorHandler = a.unrouted
		own.Use(plainNames)
		build(humaecho.NewWithGroup(own, own.Group(Base), humaConfig(cmp.Or(a.Version.Version, "0"))))
		return own
	})
	a.echo.Add(op.Method, Base+colons.Replace(op.Path), func(c echo.Context) error {
		handler().ServeHTTP(c.Response(), c.Request())
		return nil
	})
}

// colons turns the {name} of a path into echo's :name.
var colons = strings.NewReplacer("{", ":", "}", "")

// description is the OpenAPI description of all operations.
func (a *API) description() ([]byte, error) {
	if a.Lazy {
		c := a.Config
		c.Lazy = false
		whole, err := New(c)
		if err != nil {
			return nil, err
		}
		defer whole.Close()
		return whole.description()
	}
	return a.huma.OpenAPI().MarshalJSON()
}
