package wire

import (
	"strconv"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/outbox"
)

// Prefix is where the control surface lies on a server.
const Prefix = "/v1/internal"

// DocumentPath is where the OpenAPI document of the surface lies.
const DocumentPath = Prefix + "/openapi.json"

// AfterQuery is the parameter of OperationPath for the last generation of the page before.
const AfterQuery = "after"

// The verbs of a generation, as they stand in its paths.
const (
	Register = "register"
	Release  = "release"
	Cancel   = "cancel"
)

// OperationPath is the path of an operation.
func OperationPath(operation uuid.UUID) string { return Prefix + "/operations/" + operation.String() }

// VerbPath is the path of a verb of a generation.
func VerbPath(h outbox.Hold, verb string) string {
	return OperationPath(h.Operation) + "/" + strconv.Itoa(h.Generation) + "/" + verb
}
