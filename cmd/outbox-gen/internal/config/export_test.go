package config

// Parse reads a configuration from memory.
var Parse = parse
