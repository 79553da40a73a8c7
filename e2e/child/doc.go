// Package child owns processes that tests start. A child has one goroutine that forks it and waits
// for it, so that it is reaped however it ends, and so that the kernel can end it with us: on
// Linux it binds the signal of a parent's death to the thread that forked.
//
// What a child inherits, and by which signal it ends, is for whoever starts it to say.
package child
