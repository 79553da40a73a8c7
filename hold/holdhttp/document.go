package holdhttp

import _ "embed"

// document describes the surface as OpenAPI 3.1. A test holds it against the routes, the
// problems and the bodies.
//
//go:embed openapi.json
var document []byte
