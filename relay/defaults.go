package relay

// WithDefaults returns c with every zero field replaced by its default, as [New] does. An empty
// Owner stays empty, because its default is another one each time.
func (c Config) WithDefaults() Config {
	owner := c.Owner
	c = c.withDefaults()
	c.Owner = owner
	return c
}
