package fault

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// PostgresPoint is where a [PostgresRule] acts.
type PostgresPoint string

// The points.
const (
	// OnConnect is the start-up message of a client.
	OnConnect PostgresPoint = "connect"
	// OnStatement is what a client sends up to the point where it wants an answer: one
	// simple query, or one or more extended ones up to their Sync. Preparing a statement
	// without executing it is a matter of its own, with no SQL.
	OnStatement PostgresPoint = "statement"
)

// PostgresMessage is what a [PostgresRule] judges.
type PostgresMessage struct {
	Point  PostgresPoint
	Client string   // application_name at the start
	SQL    []string // what is executed, in order
}

// PostgresRule is a rule of a [PostgresProxy].
type PostgresRule = Rule[*PostgresMessage, PostgresAction]

// pgKind is what an action does.
type pgKind int

const (
	pgCutBefore pgKind = iota
	pgCutAfter
	pgStall
	pgFail
	pgFatal
)

// PostgresAction is what a [PostgresRule] does. Make one with the functions below.
type PostgresAction struct {
	kind     pgKind
	stall    time.Duration
	sqlstate string
}

// CutBefore cuts the connection before the server gets the statement.
func CutBefore() PostgresAction { return PostgresAction{kind: pgCutBefore} }

// CutAfter lets the server execute the statement to its end, and cuts the connection
// before the client sees any of its answer.
func CutAfter() PostgresAction { return PostgresAction{kind: pgCutAfter} }

// StallFor makes the statement wait before the server gets it.
func StallFor(d time.Duration) PostgresAction { return PostgresAction{kind: pgStall, stall: d} }

// Fail answers with an error in place of executing the statement. In a transaction the server
// knows that it has failed. At a connect it is fatal.
func Fail(sqlstate string) PostgresAction { return PostgresAction{kind: pgFail, sqlstate: sqlstate} }

// FailFatally answers with an error that ends the connection, such as 57P01
// (terminated by an administrator).
func FailFatally(sqlstate string) PostgresAction {
	return PostgresAction{kind: pgFatal, sqlstate: sqlstate}
}

// Connects matches new connections.
func Connects(m *PostgresMessage) bool { return m.Point == OnConnect }

// Executes matches statements of which one contains a text.
func Executes(text string) func(*PostgresMessage) bool {
	return func(m *PostgresMessage) bool {
		return slices.ContainsFunc(m.SQL, func(sql string) bool { return strings.Contains(sql, text) })
	}
}

// AnyStatement matches everything that executes something.
func AnyStatement(m *PostgresMessage) bool { return len(m.SQL) > 0 }

// Begins and Commits match what begins and what commits a transaction.
func Begins(m *PostgresMessage) bool { return first(m, beginWord) }

// Commits matches what commits a transaction.
func Commits(m *PostgresMessage) bool { return first(m, commitWord) }

var (
	beginWord  = regexp.MustCompile(`(?i)^\s*(begin|start\s+transaction)\b`)
	commitWord = regexp.MustCompile(`(?i)^\s*(commit|end)\b`)
)

func first(m *PostgresMessage, word *regexp.Regexp) bool {
	return slices.ContainsFunc(m.SQL, word.MatchString)
}
