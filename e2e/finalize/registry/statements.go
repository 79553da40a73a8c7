package registry

import _ "embed"

var (
	//go:embed sql/insert_entity.sql
	insertEntitySQL string
	//go:embed sql/insert_key.sql
	insertKeySQL string
	//go:embed sql/insert_fact.sql
	insertFactSQL string
	//go:embed sql/share_owners.sql
	shareOwnersSQL string
	//go:embed sql/lock_entity.sql
	lockEntitySQL string
	//go:embed sql/judge.sql
	judgeSQL string
	//go:embed sql/erase.sql
	eraseSQL string
	//go:embed sql/read_entity.sql
	readEntitySQL string
	//go:embed sql/orphans.sql
	orphansSQL string
	//go:embed sql/lock_entities.sql
	lockEntitiesSQL string
	//go:embed sql/erase_orphan.sql
	eraseOrphanSQL string
)
