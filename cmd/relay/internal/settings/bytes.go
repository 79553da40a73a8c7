package settings

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a size. Its text is a number of bytes, or a number with KiB, MiB or GiB.
type Bytes int64

var units = []struct {
	suffix string
	factor int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *Bytes) UnmarshalText(text []byte) error {
	number, factor := string(text), int64(1)
	for _, u := range units {
		if rest, found := strings.CutSuffix(number, u.suffix); found {
			number, factor = strings.TrimSpace(rest), u.factor
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return errors.New("not a size")
	}
	if n < 0 || n > math.MaxInt64/factor {
		return errors.New("negative or too large")
	}
	*b = Bytes(n * factor)
	return nil
}

// String returns the shortest exact text.
func (b Bytes) String() string {
	for _, u := range units {
		if b != 0 && int64(b)%u.factor == 0 {
			return fmt.Sprintf("%d%s", int64(b)/u.factor, u.suffix)
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// Set and Type make a size a flag, together with String.
func (b *Bytes) Set(text string) error { return b.UnmarshalText([]byte(text)) }

// Type names the value of the flag in help.
func (b *Bytes) Type() string { return "size" }
