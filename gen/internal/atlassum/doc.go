// Package atlassum computes atlas.sum, the checksum file of an Atlas migration folder.
//
// The hash of a file covers the names and contents of all files up to it, so that an edit
// shows in every line from there on:
//
//	h1:<base64 of SHA-256 over the name and hash of every line below>
//	<file> h1:<base64 of SHA-256 over name and content of every file up to this one>
//
// A file whose first line has the directive atlas:sum ignore gets no line, and only its
// name counts.
package atlassum
