-- The next rows of the walk. Each page costs one pass over the receipts.
FETCH FORWARD 10000 FROM sweep_candidates
