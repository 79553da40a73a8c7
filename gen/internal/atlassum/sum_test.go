package atlassum_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/gen/internal/atlassum"
)

// The expected text was made by ariga.io/atlas/sql/migrate. The module e2e/tools compares
// with the library itself.
func TestCompute(t *testing.T) {
	t.Parallel()
	files := []atlassum.File{
		{Name: "6.sql", Content: []byte("x atlas:sum ignore more\n")},
		{Name: "1_a.sql", Content: []byte("-- atlas:sum ignore\nSELECT 1;\n")},
		{Name: "2_b.sql", Content: []byte("-- atlas:sum ignore \nSELECT 1;\n")},
		{Name: "3_c.sql", Content: []byte("SELECT 3;\n-- atlas:sum ignore\n")},
		{Name: "4_c.sql", Content: []byte("-- atlas:sum  ignore\r\nSELECT 3;\n")},
		{Name: "5_c.sql", Content: []byte("SELECT 5;")},
	}
	const want = `h1:YerhpQy7XjZhdIlyJgX2LzvGNB/yC6R8FlRNDoNe62I=
2_b.sql h1:LNGaL6dofGbNGoKaxixdtUQd4P+UAiF9aZzKpkQUNUM=
3_c.sql h1:Jn7JT63/lRJF1VRb1Ab/TBxUPYSxwRSVAh31NY+hjTc=
5_c.sql h1:ioWmv87znz2q1oxO6CNyWLbWNUINFYoojKbFNuSMx3E=
6.sql h1:dRPsVOKCVMKh3bBr1xTj34xUW5eXaeIBLUaH7EK68s0=
`
	sum := atlassum.Compute(files)
	if diff := cmp.Diff(want, string(sum)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := atlassum.Listed(sum); !slices.Equal(got, []string{"2_b.sql", "3_c.sql", "5_c.sql", "6.sql"}) {
		t.Errorf("listed are %v", got)
	}
	if got := string(atlassum.Compute(nil)); got != "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n" {
		t.Errorf("of nothing: %q", got)
	}
}
