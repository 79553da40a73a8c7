package holdhttp

import "slices"

// Routes are the methods and patterns of the surface, sorted.
func Routes() []string {
	var all []string
	for _, r := range routes {
		all = append(all, r.method+" "+r.pattern)
	}
	slices.Sort(all)
	return all
}
