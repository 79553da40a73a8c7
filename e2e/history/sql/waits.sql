-- What became of events that waited, in the order in which it did.
SELECT at, lane, seq, kind, attempts FROM witness.wait ORDER BY id
