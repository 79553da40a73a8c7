-- Holds for the statements sent together with this one, in their implicit transaction, so
-- that it works through a transaction pooler. The reads must use their indexes whatever
-- the statistics say, and a plan that was cached while a slot was empty must stay right
-- when the slot has filled. Two things see to it: no sequential or bitmap scan, and
-- no sort, so that only the index that has the order asked for can be chosen; the
-- statements ask for it. Switched-off methods inflate the estimates, which must not
-- wake the just-in-time compiler. It answers with the incarnation of the server whose
-- snapshots these statements see.
SELECT {{incarnation}}, set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('enable_sort', 'off', true), set_config('jit', 'off', true)
