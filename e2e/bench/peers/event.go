package main

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

const (
	subject = "events.bench.happened"
	keys    = 10_000
	each    = 1000 // events of a staging transaction
)

// item is an event as every peer gets it.
type item struct {
	id, key string
	data    []byte
}

// makeItems makes n events of size bytes, which are valid JSON.
func makeItems(n, size int) []item {
	list := make([]item, n)
	for i := range list {
		id := uuid.NewString()
		list[i] = item{
			id: id, key: fmt.Sprint("key-", i*7919%keys),
			data: []byte(`"` + strings.Repeat(strings.ReplaceAll(id, "-", ""), size/32+1)[:size-2] + `"`),
		}
	}
	return list
}
