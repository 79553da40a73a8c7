module github.com/holdfast-dev/holdfast/e2e/tools

go 1.26.0

require (
	ariga.io/atlas v0.32.1-0.20250325101103-175b25e1c1b9
	github.com/amacneil/dbmate/v2 v2.28.0
	github.com/golang-migrate/migrate/v4 v4.20.1
	github.com/google/go-cmp v0.7.0
	github.com/holdfast-dev/holdfast v0.0.0
	github.com/jackc/pgx/v5 v5.12.0
	github.com/jackc/tern/v2 v2.3.4
	github.com/pressly/goose/v3 v3.30.1
)

replace github.com/holdfast-dev/holdfast => ../..
