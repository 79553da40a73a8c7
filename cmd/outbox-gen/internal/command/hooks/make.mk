.PHONY: outbox-check outbox-write

# Pin the version that wrote the files: go get -tool, so that go.mod has it.
outbox-check: ## compare the outbox migrations with the canonical schema
	go tool outbox-gen check

outbox-write: ## add the outbox migrations that services lack
	go tool outbox-gen write
	go tool outbox-gen go
