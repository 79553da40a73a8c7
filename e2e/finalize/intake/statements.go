package intake

import _ "embed"

var (
	//go:embed sql/insert_draft.sql
	insertDraftSQL string
	//go:embed sql/lock_draft.sql
	lockDraftSQL string
	//go:embed sql/delete_draft.sql
	deleteDraftSQL string
	//go:embed sql/basis.sql
	basisSQL string
	//go:embed sql/insert_application.sql
	insertApplicationSQL string
	//go:embed sql/answer.sql
	answerSQL string
	//go:embed sql/expired_drafts.sql
	expiredDraftsSQL string
	//go:embed sql/reap_drafts.sql
	reapDraftsSQL string
)
