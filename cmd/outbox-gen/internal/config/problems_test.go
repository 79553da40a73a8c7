package config_test

import "strings"

// problemCases are configurations that are wrong, and what is said of them.
var problemCases = map[string]struct {
	text string
	want []string
}{
	"empty":          {"", []string{"f:1:1: the file is empty / outbox-gen init proposes one"}},
	"only a comment": {"# nothing\n", []string{"f:1:1: the file is empty / outbox-gen init proposes one"}},
	"a list":         {"- a\n", []string{"f:1:1: the configuration is a list, not a mapping / write key: value pairs; the keys are version, defaults, services"}},
	"never closed":   {"services: [a\n", []string{"f:1:11: sequence end token ']' not found / correct the YAML there or just before"}},
	"tabs":           {"version: 1\n\tservices: []\n", []string{"f:2:1: found character '\t' that cannot start any token / correct the YAML there or just before"}},
	"key twice":      {"version: 1\nversion: 1\n", []string{"f:2:1: mapping key \"version\" already defined at [1:1] / correct the YAML there or just before"}},
	"two documents":  {orders + "---\nversion: 1\n", []string{"f:5:1: there is a second document / keep the first one"}},
	"unknown keys": {
		"version: 1\nservice: []\ndefaults: {tols: goose, colour: red}\nservices:\n  - {nmae: orders, dir: db, tool: goose, components: [outbox]}\n<<: {}\n",
		[]string{
			"f:2:1: unknown key service in the configuration / did you mean services?",
			"f:6:1: unknown key << in the configuration / the keys are version, defaults, services",
			"f:3:12: unknown key tols in defaults / did you mean tool?",
			"f:3:25: unknown key colour in defaults / the keys are tool, schema, lanes, retention, max_event_bytes",
			"f:5:6: unknown key nmae in a service / did you mean name?",
		},
	},
	"wrong types": {
		"version: one\ndefaults: [a]\nservices:\n  - {name: 5, dir: [a], tool: true, components: outbox, lanes: many, max_event_bytes: 1.5, retention: {slots: -1, period: 24}}\n  - orders\n",
		[]string{
			"f:1:10: version is \"one\", not a number that is allowed / write version: 1",
			"f:2:11: defaults is a list, not a mapping / write key: value pairs; the keys are tool, schema, lanes, retention, max_event_bytes",
			"f:4:12: name is \"5\", not a text / write a text; what looks like a number or true needs quotes",
			"f:4:20: dir is a list, not a text / write a text; what looks like a number or true needs quotes",
			"f:4:31: tool is \"true\", not a text / write a text; what looks like a number or true needs quotes",
			"f:4:64: lanes is \"many\", not a number that is allowed / write a whole number, or leave it out for the default",
			"f:4:87: max_event_bytes is \"1.5\", not a number that is allowed / write a whole number, or leave it out for the default",
			"f:4:111: slots is -1, and must be above zero / leave it out for the default",
			"f:4:123: period \"24\" is not a duration / write a duration such as 24h or 90m; a week is 168h",
			"f:4:49: components is \"outbox\", not a list / write a list, such as [a, b], or one line with a hyphen for each",
			"f:5:5: a service is \"orders\", not a mapping / write key: value pairs; the keys are name, dir, tool, components, go, schema, lanes, retention, max_event_bytes",
		},
	},
	"no values": {
		"version:\nservices:\n  - {name: \"\", dir: ~, tool: goose, components: [null]}\n",
		[]string{
			"f:1:1: version has no value / give it a value, or leave it out for the default",
			"f:3:16: dir has no value / give it a value, or leave it out for the default",
			"f:3:12: name is empty / give it a value, or leave it out",
			"f:3:50: a component is nothing, not a text / write a text; what looks like a number or true needs quotes",
		},
	},
	"zero means nothing": {
		"version: 1\ndefaults: {lanes: 0, retention: {period: 0s}}\n" + strings.TrimPrefix(orders, "version: 1\n"),
		[]string{
			"f:2:19: lanes is 0, and must be above zero / leave it out for the default",
			"f:2:42: period \"0s\" is not a duration / write a duration such as 24h or 90m; a week is 168h",
		},
	},
	"nothing to do": {"version: 1\n", []string{"f:1:1: there is no service / list at least one service"}},
	"what does not fit": {
		`version: 3
defaults: {lanes: 999}
services:
  - {name: orders, dir: ../orders, tool: gose, components: [outbox, ralay]}
  - name: Orders Service
    dir: /abs
    components: [hold, hold, blockchain]
    schema: out"box
  - {name: orders, dir: a, tool: tern, components: [outbox], retention: {slots: 2}, go: x.sql}
  - {name: billing, dir: a, tool: oracle, components: [outbox]}
`,
		[]string{
			"f:1:10: version 3 is unknown / write version: 1",
			"f:2:19: lanes 999: must be 1 to 256 / leave it out for the default",
			"f:4:25: dir \"../orders\" leads out of its folder / name a folder below the configuration file, with slashes, such as services/orders/migrations",
			"f:4:42: unknown tool \"gose\" / did you mean goose?",
			"f:4:69: unknown component \"ralay\" / did you mean relay?",
			"f:5:11: service name \"Orders Service\" is not allowed / use lower case letters, digits, dots, underscores and hyphens, 63 at most",
			"f:6:10: dir \"/abs\" is absolute / name a folder below the configuration file, with slashes, such as services/orders/migrations",
			"f:5:5: service Orders Service has no tool / name it here or in defaults: atlas, dbmate, flyway, golang-migrate, goose, tern, plain",
			"f:7:24: component hold is listed twice / list it once",
			"f:7:30: unknown component \"blockchain\" / the components are outbox, hold, relay, consumer, saga",
			"f:8:13: schema \"out\\\"box\": must match [a-z_][a-z0-9_]*, 50 bytes at most, and not begin with pg_ / leave it out for the default",
			"f:9:81: retention slots 2: must be 3 to 32 / leave it out for the default",
			"f:9:89: go \"x.sql\" is not the name of a Go file / name a Go file in a folder of its own, such as services/orders/internal/outboxschema/schema_gen.go",
			"f:10:35: unknown tool \"oracle\" / the tools are atlas, dbmate, flyway, golang-migrate, goose, tern, plain",
			"f:9:12: name orders is listed twice / the first is service number 1, orders",
			"f:10:26: dir a is listed twice / the first is service number 3, orders",
		},
	},
	"an alias of nothing": {
		"version: 1\nservices:\n  - {name: *orders, dir: db, tool: goose, components: [outbox]}\n",
		[]string{"f:3:12: name is an alias of nothing: *orders, not a text / write a text; what looks like a number or true needs quotes"},
	},
	"a circle of aliases": {
		"version: 1\nservices: &a\n  - {name: x, dir: db, tool: goose, components: *a}\n",
		[]string{"f:3:5: a component is a mapping, not a text / write a text; what looks like a number or true needs quotes"},
	},
}
