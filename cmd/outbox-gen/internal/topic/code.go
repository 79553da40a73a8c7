package topic

func codes() []Topic {
	all := []Topic{
		{Name: "HF001", Summary: "an event was refused because a field is not valid",
			Text: "The detail names the field, as field=NAME, and the hint says what it must be. Nothing was staged, and the transaction is aborted like after any error."},
		{Name: "HF002", Summary: "an argument of a function is not valid",
			Text: "The detail names the argument, as field=NAME. The function changed nothing."},
		{Name: "HF003", Summary: "a warning: publish is the first write of its transaction",
			Text: "Raised only when holdfast.guard is set to warn. Business rows and event are probably not in one transaction: look whether BEGIN was sent, and publish after your own writes."},
		{Name: "HF010", Summary: "the generation is unknown",
			Text: "No such generation of the operation was registered in this database. Register it first, or look at the operation id."},
		{Name: "HF011", Summary: "the generation is cancelled",
			Text: "Its events were dropped, and no new one can be staged under it. A cancelled generation stays cancelled: begin a new one."},
		{Name: "HF012", Summary: "the generation is released",
			Text: "Its events have left, and no new one can be staged under it. Begin a new generation, or publish without a hold."},
		{Name: "HF013", Summary: "the generation is superseded by a later one",
			Text: "The detail names the latest, as max_generation=N. Whoever still works under the older one has to stop."},
		{Name: "HF014", Summary: "a step was applied before with another body",
			Text: "The step key of the receipt is taken by a request with other bytes. A repeated call must send the same bytes; another piece of work needs another step key."},
		{Name: "HF015", Summary: "a receipt is not complete",
			Text: "A step began a receipt and its transaction did not complete it with the stable id of what it made. Call receipt_complete before the commit; roll back when the step failed."},
		{Name: "HF016", Summary: "compensation staged an event",
			Text: "Nobody downstream was told of what is undone, so there is nothing to tell. The compensation of the step was rolled back; take the publication out of it."},
		{Name: "HF017", Summary: "the generation is active, so it cannot be compensated",
			Text: "Compensation undoes what a cancelled generation did. Cancel it first; from then on no step can slip in."},
		{Name: "HF018", Summary: "compensation of the step was not begun, or is over",
			Text: "The step has no receipt, has an outcome already, or its compensation was begun in another transaction. Begin, compensate and finish it in one transaction, once."},
		{Name: "HF019", Summary: "the audit is append-only",
			Text: "Rows of hold_audit can't be changed or deleted, because they are evidence. Export them instead."},
		{Name: "HF020", Summary: "an event waits for a retry or is a dead letter, never both",
			Text: "A row was written by hand into one of the two tables while the event is in the other. Move it with relay dead-letter requeue."},
	}
	for i := range all {
		all[i].Group = Code
	}
	return all
}
