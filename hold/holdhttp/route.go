package holdhttp

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
)

// route is one call of the surface.
type route struct {
	method, pattern string // {x} stands for one segment
	paged           bool   // takes wire.AfterQuery
	// run makes the call; nil answers with the description.
	run func(h *Handler, ctx context.Context, c *call) (any, error)
}

// routes are all there are. Never changed.
var routes = []route{
	{method: http.MethodPost, pattern: wire.Prefix + "/operations/{operation}/{generation}/" + wire.Register, run: (*Handler).register},
	{method: http.MethodPost, pattern: wire.Prefix + "/operations/{operation}/{generation}/" + wire.Release, run: (*Handler).release},
	{method: http.MethodPost, pattern: wire.Prefix + "/operations/{operation}/{generation}/" + wire.Cancel, run: (*Handler).cancel},
	{method: http.MethodGet, pattern: wire.Prefix + "/operations/{operation}", paged: true, run: (*Handler).show},
	{method: http.MethodGet, pattern: wire.DocumentPath},
}

// match finds the route of a request. It follows no other form of a path, and redirects nobody.
func match(w http.ResponseWriter, r *http.Request) (route, []string, error) {
	for _, candidate := range routes {
		params, ok := candidate.params(r.URL.EscapedPath())
		if !ok {
			continue
		}
		if r.Method != candidate.method { // a path has one method
			w.Header().Set("Allow", candidate.method)
			return route{}, nil, problem(wire.MethodNotAllowed)
		}
		return candidate, params, nil
	}
	return route{}, nil, problem(wire.RouteUnknown)
}

// params returns the segments of a path that stand for {x}.
func (r route) params(path string) (params []string, ok bool) {
	want, got := strings.Split(r.pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	for i, segment := range want {
		if strings.HasPrefix(segment, "{") && got[i] != "" {
			params = append(params, got[i])
		} else if segment != got[i] {
			return nil, false
		}
	}
	return params, true
}

// readQuery returns the last generation of the page before, or 0. It refuses everything else.
func (r route) readQuery(request *http.Request) (after int, err error) {
	if request.URL.RawQuery == "" {
		return 0, nil
	}
	query, err := url.ParseQuery(request.URL.RawQuery)
	if err != nil {
		return 0, invalid("query")
	}
	for name, values := range query {
		if !r.paged || name != wire.AfterQuery || len(values) != 1 {
			return 0, invalid("query")
		}
		if after, err = wire.ParseGeneration(values[0]); err != nil {
			return 0, invalid(wire.AfterQuery)
		}
	}
	return after, nil
}

// hold reads the generation of a path.
func (c *call) hold() (outbox.Hold, error) {
	var h outbox.Hold
	var err error
	if h.Operation, err = wire.ParseOperation(c.params[0]); err != nil {
		return h, invalid("operation")
	}
	if h.Generation, err = wire.ParseGeneration(c.params[1]); err != nil {
		return h, invalid("generation")
	}
	return h, nil
}
