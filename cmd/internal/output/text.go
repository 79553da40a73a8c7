package output

import (
	"strconv"
	"strings"
	"time"
)

// Count returns a number with its noun: "1 event", "1,204 events".
func Count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Number(int64(n)) + " " + noun + "s"
}

// Number returns a number with commas.
func Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var out strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(d)
	}
	return sign + out.String()
}

// Age returns a duration as people say it, in its two largest units at most: "40ms", "3s",
// "2m 5s", "4h 10m", "3d 4h".
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return strconv.FormatInt(max(d.Milliseconds(), 0), 10) + "ms"
	case d < time.Minute:
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	case d < time.Hour:
		return two(d, time.Minute, "m", time.Second, "s")
	case d < day:
		return two(d, time.Hour, "h", time.Minute, "m")
	default:
		return two(d, day, "d", time.Hour, "h")
	}
}

func two(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	text := strconv.FormatInt(int64(d/large), 10) + largeName
	if rest := d % large / small; rest > 0 {
		text += " " + strconv.FormatInt(int64(rest), 10) + smallName
	}
	return text
}

// Seconds returns a duration as JSON has it, to the millisecond.
func Seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// Time returns a time as JSON has it.
func Time(t time.Time) string { return t.UTC().Format(time.RFC3339) }
