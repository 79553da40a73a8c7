package retry

// Statements is statements, for the test that prepares them all.
var Statements = statements
