package registry

// kind is something that the registry owns.
type kind struct {
	name string
	path string // where it is recorded
	step string // the name of the step that makes it
	// events are the types that its recording stages, all of them, in this order.
	events []string
	// ofHousehold and ofPerson say what it belongs to.
	ofHousehold, ofPerson bool
}

// kinds are all there are: also the one list of the events that an operation may stage here.
// Never changed.
var kinds = []kind{
	{name: "person", path: "/v1/persons", step: "person", events: []string{"person.registered", "person.described"}},
	{name: "household", path: "/v1/households", step: "household", events: []string{"household.opened"}},
	{name: "membership", path: "/v1/memberships", step: "member", events: []string{"membership.begun"}, ofHousehold: true, ofPerson: true},
	{name: "income", path: "/v1/incomes", step: "income", events: []string{"income.reported"}, ofPerson: true},
	{name: "asset", path: "/v1/assets", step: "asset", events: []string{"asset.reported"}, ofPerson: true},
}

// corrected is the type of the event of a correction, which is an ordinary write.
const corrected = "entity.corrected"
