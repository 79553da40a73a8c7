// Package lazytx is a transaction that begins with its first statement. Where that is [First], both make one trip
// to the database, and two otherwise. Whoever claims a fact first thing saves a trip for every event.
//
// # States
//
//	waiting   nothing was sent. Commit and Rollback end it without a word to the database.
//	opening   BEGIN and the first statement were sent, and the row was not read yet: the connection is busy.
//	begun     every call goes to the transaction.
//	failed    BEGIN was refused, or its answer is lost. The connection is closed, so that no statement can run
//	          outside of a transaction, and [Tx.BeginError] says why, unless the time was over.
//
// Who asks for the connection may send anything with it, so [Tx.Conn] begins first.
package lazytx
