package gen

// Kind is a way in which a service can differ from what the generator writes.
type Kind string

// The kinds of drift.
const (
	// KindMissing is a file that is not there.
	KindMissing Kind = "missing"
	// KindEdited is a file of ours with other bytes.
	KindEdited Kind = "edited"
	// KindExtra is a file under a name of ours that the service should not have.
	KindExtra Kind = "extra"
	// KindReordered is a file that runs before one that it needs, or shares its number.
	KindReordered Kind = "reordered"
	// KindOlder is a component that stops at an older version, or a file made from another
	// text of the canonical schema.
	KindOlder Kind = "older"
	// KindLineEndings is a file that is right but for CRLF at the ends of its lines.
	KindLineEndings Kind = "line-endings"
	// KindParameters is a file that was made with other parameters.
	KindParameters Kind = "parameters"
	// KindHandmade is a migration of the service that defines an object of ours.
	KindHandmade Kind = "handmade"
	// KindSum is an atlas.sum that does not fit its folder.
	KindSum Kind = "atlas-sum"
	// KindConstants is a Go file whose constants are not those of the migrations.
	KindConstants Kind = "constants"
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{KindMissing, KindEdited, KindExtra, KindReordered, KindOlder, KindLineEndings, KindParameters, KindHandmade, KindSum, KindConstants}
}

// Drift is one difference between a service and what the generator writes.
type Drift struct {
	Service string
	File    string // relative to the root of the configuration
	Kind    Kind
	Detail  string // what is different, for a person
	Line    int    // of the first difference in the file, from 1; 0 when it is about no line
	// Expected is what the file should be; nil when it should not be, or not be so named.
	Expected []byte
	// Actual is what the file is; nil when it is not there or can't be compared.
	Actual []byte
	// Mend is the command that mends it, or the thing to do where no command can.
	Mend string
}
