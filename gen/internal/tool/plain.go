package tool

var plain = Tool{
	Name:    "plain",
	Summary: "plain SQL files, run in the order of their names, for example with psql",
	Parts:   []Part{Whole},
	order:   lexical,
	initial: counting(4),
	parse:   parseDigits,
	name:    nameDigits,
	render:  one,
}
