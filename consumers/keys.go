package consumers

import "sync"

// keys handles messages: those of one key one after the other, those of different keys at once,
// up to a limit. All methods are safe for concurrent use.
type keys struct {
	workers chan struct{}
	running sync.WaitGroup

	mu sync.Mutex
	// waiting are the messages behind the one that is handled. A key is here while it has any.
	waiting map[string][]func()
}

func newKeys(n int) *keys {
	return &keys{workers: make(chan struct{}, n), waiting: map[string][]func(){}}
}

// run handles a message as soon as its key and a worker are free. It does not wait.
func (k *keys) run(key string, handle func()) {
	if key == "" {
		k.running.Go(func() { k.work(handle) })
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	behind, busy := k.waiting[key]
	if busy {
		k.waiting[key] = append(behind, handle)
		return
	}
	k.waiting[key] = nil
	k.running.Go(func() {
		for next := handle; next != nil; next = k.next(key) {
			k.work(next)
		}
	})
}

func (k *keys) work(handle func()) {
	k.workers <- struct{}{}
	defer func() { <-k.workers }()
	handle()
}

// next returns what is behind, or nil and forgets the key.
func (k *keys) next(key string) func() {
	k.mu.Lock()
	defer k.mu.Unlock()
	behind := k.waiting[key]
	if len(behind) == 0 {
		delete(k.waiting, key)
		return nil
	}
	k.waiting[key] = behind[1:]
	return behind[0]
}

func (k *keys) wait() { k.running.Wait() }
