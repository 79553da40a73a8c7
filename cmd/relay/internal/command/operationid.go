package command

import (
	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
)

// parseOperation reads the id of an operation, as participants and coordinators have it.
func parseOperation(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 || id == uuid.Nil {
		return uuid.Nil, exit.Errorf(exit.Usage, "%q is not the id of an operation", text).
			WithHint("an id is a UUID: relay hold list and relay operation list show those that there are")
	}
	return id, nil
}
