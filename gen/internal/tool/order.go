package tool

import (
	"strconv"
	"strings"
	"time"
)

// order is how a tool sorts numbers.
type order struct{ compare func(a, b string) int }

var (
	numeric = order{byValue}
	// By file name, as a shell lists them. For numbers of one width this is by value.
	lexical = order{strings.Compare}
	// Part by part, as flyway does: 1.2 < 1.10 < 2.
	dotted = order{byParts}
)

func byValue(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func byParts(a, b string) int {
	as, bs := parts(a), parts(b)
	for i := range max(len(as), len(bs)) {
		x, y := "0", "0"
		if i < len(as) {
			x = as[i]
		}
		if i < len(bs) {
			y = bs[i]
		}
		if c := byValue(x, y); c != 0 {
			return c
		}
	}
	return 0
}

func parts(number string) []string { return strings.Split(strings.ReplaceAll(number, "_", "."), ".") }

// scheme is how a folder counts.
type scheme struct {
	layout string // of a time; "" when the numbers count up
	unix   bool   // seconds since 1970
	width  int    // of the first number, for counting
}

var (
	// What goose, golang-migrate, dbmate and atlas make by default.
	datetime = scheme{layout: "20060102150405"}
	epoch    = scheme{unix: true}
)

func counting(width int) scheme { return scheme{width: width} }

// schemeOf guesses from a number how its folder counts. Dense numbers only ever count.
func schemeOf(number string, dense bool) scheme {
	switch {
	case dense:
		return scheme{}
	case len(number) == len(datetime.layout) && datetime.valid(number):
		return datetime
	// From 2001 to 2096: a counter does not get there, and a number of a day has fewer digits.
	case len(number) == 10 && number >= "1000000000" && number < "4000000000":
		return epoch
	default:
		return scheme{}
	}
}

func (s scheme) valid(number string) bool {
	_, err := time.Parse(s.layout, number)
	return err == nil
}

func (s scheme) first(now time.Time) string {
	if s.layout == "" && !s.unix {
		return pad("1", s.width)
	}
	return s.of(now)
}

// of writes a time.
func (s scheme) of(at time.Time) string {
	if s.unix {
		return strconv.FormatInt(at.Unix(), 10)
	}
	return at.UTC().Format(s.layout)
}

// next is the number of now, and behind last in any case.
func (s scheme) next(last string, now time.Time) string {
	return max(s.step(last, 1), s.now(now))
}

// now is the number of a time, or one below every number.
func (s scheme) now(at time.Time) string {
	if s.layout == "" && !s.unix {
		return ""
	}
	return s.of(at)
}

func (s scheme) previous(number string) (string, bool) {
	before := s.step(number, -1)
	return before, before != ""
}

// step adds to a number; "" when nothing is left below it.
func (s scheme) step(number string, by int) string {
	if s.layout != "" {
		at, err := time.Parse(s.layout, number)
		if err != nil {
			return ""
		}
		return s.of(at.Add(time.Duration(by) * time.Second))
	}
	// The last part counts, so that 1.2 is followed by 1.3.
	cut := strings.LastIndexAny(number, "._") + 1
	n, err := strconv.ParseUint(number[cut:], 10, 63)
	if err != nil || by < 0 && n <= 1 {
		return ""
	}
	return number[:cut] + pad(strconv.FormatInt(int64(n)+int64(by), 10), len(number)-cut)
}

func pad(digits string, width int) string {
	return strings.Repeat("0", max(width-len(digits), 0)) + digits
}
