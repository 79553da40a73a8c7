//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package sweep

import (
	"errors"
	"os"
)

// lock refuses: without a lock that ends with its process two runs could write one file.
func lock(*os.File) error { return errors.ErrUnsupported }
