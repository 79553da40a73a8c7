// Package wire is the only code that knows how an event looks on NATS: its
// subject, its headers and its body.
//
// # What it promises
//
// An [Encoder] turns an [outbox.Record] into a message, and [Decode] turns a
// message of any CloudEvents producer into an [event.Event]. What Encode
// wrote, Decode gives back: every attribute character for character, the data
// bit for bit. Both modes carry Nats-Msg-Id, a stable function of source and
// id ([MsgID]), and Nats-Expected-Stream when a stream is configured.
//
// It never publishes, never logs, never panics on input, and never changes a
// Record. Every header it writes has a name that is constant or begins with
// "ce-", so no event, however it was stored, can carry a Nats-* header of its
// own to the server (a roll-up, a trace destination, a TTL).
//
// # Binary mode, the default
//
// The rules are those of the CloudEvents NATS protocol binding. Version 1.0.2
// as released knows structured mode only; binary mode and its percent-encoding
// (section 3.1.3.2) are in the text that follows it, 1.0.3-wip, and that is
// the text obeyed here.
//
//   - Each attribute is one header, named ce- and the attribute's name in lower
//     case; datacontenttype is no exception, it travels as ce-datacontenttype.
//   - Values are percent-encoded: space, double quote, percent and everything
//     outside U+0021..U+007E, as the bytes of UTF-8, with upper-case digits.
//   - The body is the data, unchanged. Data that is empty and data that is
//     absent look the same.
//   - Every extension comes back as a string: a header has no types.
//
// # Structured mode
//
// The body is the event in the CloudEvents JSON format and the header
// Content-Type is application/cloudevents+json, by which the binding tells the
// modes apart. Data whose media type is JSON ("*/json" or "*/*+json",
// parameters ignored) is embedded bit for bit as the member data when it is
// one valid JSON text in valid UTF-8 without white space around it. All other
// data travels as data_base64, which keeps it bit for bit too. Data without a
// datacontenttype is such other data: the format would take a data member
// without one for application/json, a claim that the producer never made.
//
// # What Decode accepts
//
// Content-Type decides the mode, as the binding says: beside a structured event,
// ce- headers mean nothing. Header names in any case, unnecessary percent-encoding, lower-case
// hexadecimal digits, double-quoted values (older versions of the binding),
// and values that were not encoded at all, as the CloudEvents SDK for Go
// writes them. It refuses what could be read in two ways or must not be read:
// an attribute given twice, a broken escape, bytes that are not UTF-8
// (overlong forms such as %C0%A0 included), and NUL.
//
// # Where the CloudEvents SDK for Go differs
//
// Seen in its nats_jetstream protocol, version 2.16.2, and kept true by tests:
//
//   - It does not percent-encode when it writes and does not decode when it
//     reads. It reads our messages, but values with a space, a quote, a percent
//     or a character outside ASCII stay encoded. A common one is a
//     datacontenttype with a space before its parameter: write
//     "text/plain;charset=utf-8" where such readers matter. Of its messages, a
//     value with a percent sign that looks like an escape is decoded, and one
//     that does not is refused; that ambiguity cannot be solved by a reader.
//   - It writes structured messages without a Content-Type header. By the
//     binding they are no CloudEvents messages, so Decode answers
//     [ErrNotCloudEvent]; a consumer that knows its producers can read them
//     with [DecodeJSON].
//   - It takes the header content-type of a binary message for the attribute
//     datacontenttype. So does Decode, when ce-datacontenttype is absent.
//   - Its JSON reader takes only a few media types for JSON. It cannot read
//     a structured event with data of, say, application/vnd.shop+json.
package wire
