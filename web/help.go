package web

import (
	"net/http"

	"github.com/kairosd/kairosd/web/view"
)

func (r *request) help() error {
	return r.render(http.StatusOK, view.Help(r.shell("", "Help")))
}
