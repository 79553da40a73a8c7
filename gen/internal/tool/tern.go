package tool

var tern = Tool{
	Name:    "tern",
	Summary: "tern: one file without a way back, which tern refuses by itself",
	Parts:   []Part{Whole},
	Dense:   true,
	order:   numeric,
	initial: counting(3),
	parse:   parseDigits,
	name:    nameDigits,
	render:  one,
	// Files are Go templates, and this line begins the way back.
	forbids:  []string{"{{", "---- create above / drop below ----", "---- tern:"},
	maxValue: "2147483647",
}
