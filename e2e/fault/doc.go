// Package fault breaks what Holdfast depends on, on purpose and in a known place: the
// connections to NATS and to Postgres, and the processes at their ends.
//
// # What is here
//
//   - [NATSProxy] stands between NATS clients and a server and knows their protocol, so
//     that a rule can act on a publication, or on the acknowledgement of one.
//   - [PostgresProxy] stands between Postgres clients and a server and knows the framing
//     of their messages, so that a rule can act on a statement or on its answer.
//   - [Process] is a child that can be killed, stopped and continued.
//   - [SkewedClock] makes go build give a program a clock that can be set wrong.
//   - [Node] and [Cluster] are nats-servers in processes of their own, alone or as
//     a JetStream cluster, whose stores can be saved and rolled back.
//
// # Rules
//
// A rule is a value: what it matches, how many matches it lets pass, how often it acts,
// and what it does. It can be added and removed while traffic flows, and counts its
// hits. Of several rules that match, the one that was added first acts; a rule that has
// acted as often as it may is as if it were not there.
//
// A [LinkRule] concerns connections and not what they carry: it refuses new
// ones, discards all bytes, holds them up, or slows them down.
//
// # What it promises
//
//   - What no rule matches arrives unchanged and in order, save that the addresses of
//     other servers are taken out of what a NATS server says of itself: a client
//     that learned them would go around the proxy.
//   - An error that [PostgresProxy] makes inside a transaction is raised by the
//     server, which so knows that the transaction has failed.
//   - Close ends every connection, process and goroutine of its owner.
//
// # What it never does
//
// It never touches a connection or a process that was not made through it, and it
// listens on loopback only.
package fault
