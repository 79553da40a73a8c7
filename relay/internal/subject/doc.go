// Package subject compares subject filters of NATS, as the server does: tokens with dots between, * for one
// token, > for one or more at the end. A subject is a filter that matches itself.
package subject
