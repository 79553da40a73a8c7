package consumers

import "sync"

// keys hands deliveries to workers: those of one key one after the other, those of different keys
// at once. A worker takes as many as are ready, up to a batch. All methods are safe for concurrent use.
type keys struct {
	handle  func([]*delivery)
	workers int // at most
	batch   int // at most
	running sync.WaitGroup

	mu    sync.Mutex
	busy  int         // workers
	ready []*delivery // whose key is free
	// behind are the deliveries whose key has others in front, which are ready or handled. A key
	// is here while it has any of them.
	behind map[string][]*delivery
}

func newKeys(workers, batch int, handle func([]*delivery)) *keys {
	return &keys{handle: handle, workers: workers, batch: batch, behind: map[string][]*delivery{}}
}

// run handles a delivery as soon as its key and a worker are free. It does not wait.
func (k *keys) run(d *delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d.key != "" {
		behind, taken := k.behind[d.key]
		if taken {
			k.behind[d.key] = append(behind, d)
			return
		}
		k.behind[d.key] = nil
	}
	k.ready = append(k.ready, d)
	k.start()
}

// start begins another worker when there is something for it. The caller holds mu.
func (k *keys) start() {
	if len(k.ready) > 0 && k.busy < k.workers {
		k.busy++
		k.running.Go(k.work)
	}
}

func (k *keys) work() {
	for batch := k.next(nil); len(batch) > 0; batch = k.next(batch) {
		k.handle(batch)
	}
}

// next gives back the keys of what was handled and takes what is ready; of a key that is taken all
// that is there, in order. With nothing to take the worker is over.
func (k *keys) next(handled []*delivery) (batch []*delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, d := range handled {
		if d.key != "" && (i+1 == len(handled) || handled[i+1].key != d.key) { // the last of its key
			k.release(d.key)
		}
	}
	// What is ready is shared with those that could begin now.
	most := min(k.batch, max(1, len(k.ready)/(k.workers-k.busy+1)))
	for len(batch) < most && len(k.ready) > 0 {
		d := k.ready[0]
		k.ready = k.ready[1:]
		batch = append(batch, d)
		if d.key == "" {
			continue
		}
		more := min(k.batch-len(batch), len(k.behind[d.key]))
		batch = append(batch, k.behind[d.key][:more]...)
		k.behind[d.key] = k.behind[d.key][more:]
	}
	if len(batch) == 0 {
		k.busy--
	}
	k.start()
	return batch
}

// release makes the next delivery of a key ready, or forgets the key.
func (k *keys) release(key string) {
	behind := k.behind[key]
	if len(behind) == 0 {
		delete(k.behind, key)
		return
	}
	k.ready = append(k.ready, behind[0])
	k.behind[key] = behind[1:]
}

func (k *keys) wait() { k.running.Wait() }
