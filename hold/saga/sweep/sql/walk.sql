-- All candidates, to be read a page at a time: {{.All}} is the statement that finds them.
DECLARE sweep_candidates NO SCROLL CURSOR FOR {{.All}}
