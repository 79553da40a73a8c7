package tool

var atlas = Tool{
	Name:    "atlas",
	Summary: "atlas: one file without a way back, and atlas.sum kept valid",
	Parts:   []Part{Whole},
	HasSum:  true,
	order:   lexical,
	initial: datetime,
	parse:   parseDigits,
	name:    nameDigits,
	render:  one,
	forbids: []string{"atlas:"}, // a directive
}
