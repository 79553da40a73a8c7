package topic

import "github.com/holdfast-dev/holdfast/gen"

func drifts() []Topic {
	var all []Topic
	for _, k := range gen.Kinds() {
		t := driftTexts[k]
		t.Name, t.Group = string(k), Drift
		all = append(all, t)
	}
	return all
}

var driftTexts = map[gen.Kind]Topic{
	gen.KindMissing: {
		Summary: "a file that the service must have is not there",
		Text:    "A component was added to the configuration and not written yet, or a file was deleted or lost in a merge. outbox-gen write makes it. If the file was deleted after it had run somewhere, restore it from version control instead: a tool that finds it under another number runs it again, and it fails because the tables exist.",
	},
	gen.KindEdited: {
		Summary: "a generated file has other bytes than the generator writes",
		Text:    "Somebody changed a generated file: a byte is enough, and so is a statement that comes to the same. The service's schema is then no longer the one that relays, libraries and the other services are tested with. The command in the report puts the file back under the name that it has. What the change was for belongs in the canonical schema, as a new version, or in a table of the service. Databases that already ran the edited file are compared with outbox-gen verify.",
	},
	gen.KindExtra: {
		Summary: "a file has a name that is kept for generated files, and should not be there",
		Text:    "The name holdfast_<component>_v<version> belongs to the generator. Such a file is a copy, a leftover of a merge, a component that the configuration does not give the service, or a version that this outbox-gen is too old for. Rename what is the service's own, remove what is left over, and add a component that a database already has to the configuration: a component is never taken away.",
	},
	gen.KindReordered: {
		Summary: "a generated file runs before one that it needs, or shares its number",
		Text:    "Files may be renumbered, but outbox must run before hold and relay, and the versions of a component in their order. The usual cause is a merge of two branches that took the same number. The command in the report renames the files in one go. Where they ran already, keep the names and the order in which they ran.",
	},
	gen.KindOlder: {
		Summary: "a component stops at an older version, or a file was made from another text",
		Text:    "Either the canonical schema has a newer version, and outbox-gen write adds it as a new file; or the checksum in the head of a file is not that of the canonical text of the same version, because another build of outbox-gen wrote it. Released versions never change, so in that case one of the two builds is not a release.",
	},
	gen.KindLineEndings: {
		Summary: "a generated file is right but for CRLF at the ends of its lines",
		Text:    "Git converted the file on checkout, or an editor did. The carriage returns become part of the function bodies in the database, which then differ from every other one. Keep git from converting, with the line *holdfast_*.sql -text in .gitattributes, and write the file anew.",
	},
	gen.KindParameters: {
		Summary: "a generated file was made with other parameters than the configuration has",
		Text:    "The head of a file says what it was made with: database schema, lanes, retention slots and period, largest event. They are fixed once a database has them: the number of lanes decides in which lane a key lives. Put the configuration back, unless the file never ran anywhere.",
	},
	gen.KindHandmade: {
		Summary: "a migration of the service defines an object of the canonical schema",
		Text:    "A statement creates, alters or drops a table, function or index of ours, or hangs a trigger, policy, rule or partition on one. Grants, owners, views and rows are fine. Such a change makes one database unlike all others: outbox-gen verify will say so, and the next version of the component may fail on it.",
	},
	gen.KindSum: {
		Summary: "atlas.sum does not fit the files beside it",
		Text:    "Atlas refuses to run the folder. A file was changed, added or removed without atlas migrate hash, or a merge mixed two checksum files. Look at what changed before renewing it: the checksum is there so that somebody does.",
	},
	gen.KindConstants: {
		Summary: "the Go file with the constants of the schema is not what the migrations make",
		Text:    "The service would check its database against other versions than its migrations install, or would not compile with the outbox package. outbox-gen go writes the file anew; nothing in it is edited by hand.",
	},
}
