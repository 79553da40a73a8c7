package gen

import "github.com/holdfast-dev/holdfast/schema/canonical"

// WithPlan replaces the canonical schema, so that tests can have versions that do not exist yet
// and SQL that a person can read.
func (c Config) WithPlan(plan func(canonical.Params, ...canonical.Component) ([]canonical.Rendered, error)) Config {
	c.plan = plan
	return c
}

// InstallLock is the key that installs queue up under.
const InstallLock = installLock
