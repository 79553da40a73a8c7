package events

// StatementTexts lets a test prepare every statement.
var StatementTexts = statements
