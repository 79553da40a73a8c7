package saga

import "errors"

// Sentinels of this package, for errors.Is.
var (
	// ErrLeaseLost: the claim is somebody else's now, or the operation has ended. Nothing more may be
	// done under it; claim again to learn what became of the operation.
	ErrLeaseLost = errors.New("lease of the operation is lost")
	// ErrDigestMismatch: the request is not the one that was pinned.
	ErrDigestMismatch = errors.New("request differs from the pinned one")
	// ErrDigestKeyUnknown: the pinned digest was made with a key that is not among the keys.
	ErrDigestKeyUnknown = errors.New("key of the pinned digest is unknown")
	// ErrStepConflict: the step is recorded with another remote id.
	ErrStepConflict = errors.New("step is recorded with another remote id")
	// ErrSubjectGone: the subject is not there any more, and nothing says that the operation completed.
	ErrSubjectGone = errors.New("subject of the operation is gone")
	// ErrGenerationClosed: a participant takes no writes of this generation.
	ErrGenerationClosed = errors.New("participant takes no writes of this generation")
	// ErrNotFound: there is no such operation.
	ErrNotFound = errors.New("no such operation")
)
