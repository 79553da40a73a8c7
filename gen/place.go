package gen

import (
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/gen/internal/tool"
)

// places gives numbers to files that are not there yet.
type places struct {
	tool     tool.Tool
	now      time.Time
	numbers  []string       // all that are taken
	greatest string         // "" in an empty folder
	ours     map[ref]string // the number of each of our versions
}

// newPlaces takes stock of a folder.
func newPlaces(f *folder, now time.Time) *places {
	p := &places{tool: f.tool, now: now, ours: map[ref]string{}}
	for _, i := range f.sorted() {
		one := f.files[i]
		p.take(one.parsed.Number)
		if _, known := p.ours[one.ours]; one.isOurs() && !known {
			p.ours[one.ours] = one.parsed.Number
		}
	}
	return p
}

func (p *places) take(number string) {
	p.numbers = append(p.numbers, number)
	if p.greatest == "" || p.tool.Compare(number, p.greatest) > 0 {
		p.greatest = number
	}
}

func (p *places) taken(number string) bool {
	for _, n := range p.numbers {
		if p.tool.Compare(n, number) == 0 {
			return true
		}
	}
	return false
}

// next is the number for a migration that may come last, and must come behind low.
func (p *places) next(low string) (string, error) {
	if gap := p.gap(low); gap != "" {
		p.take(gap)
		return gap, nil
	}
	number, err := p.tool.Next(p.greatest, p.now)
	if err != nil {
		return "", err
	}
	p.take(number)
	return number, nil
}

// gap is the lowest number behind low that is missing before the greatest, for a tool that
// runs nothing while one is. With n numbers taken it is at most n, or there is none.
func (p *places) gap(low string) string {
	if !p.tool.Dense || p.greatest == "" {
		return ""
	}
	for n := 1; n <= len(p.numbers); n++ {
		number := fmt.Sprintf("%0*d", len(p.greatest), n)
		if !p.taken(number) && (low == "" || p.tool.Compare(number, low) > 0) {
			return number
		}
	}
	return ""
}

// of gives a number to one of our versions: the one that it has, if another file of it is
// there; one before what needs it, if that is there already; else the next.
func (p *places) of(r ref) (string, error) {
	if number, known := p.ours[r]; known {
		return number, nil
	}
	low, high := "", ""
	for other, number := range p.ours {
		if other.before(r) && (low == "" || p.tool.Compare(number, low) > 0) {
			low = number
		}
		if r.before(other) && (high == "" || p.tool.Compare(number, high) < 0) {
			high = number
		}
	}
	number, err := p.between(r, low, high)
	if err != nil {
		return "", err
	}
	p.ours[r] = number
	return number, nil
}

// between finds a free number below high, as near to it as can be.
func (p *places) between(r ref, low, high string) (string, error) {
	if high == "" {
		return p.next(low)
	}
	for n, ok := p.tool.Previous(high); ok; n, ok = p.tool.Previous(n) {
		if low != "" && p.tool.Compare(n, low) <= 0 {
			break
		}
		if !p.taken(n) {
			p.take(n)
			return n, nil
		}
	}
	return "", fmt.Errorf("no number is free for %s before %s, where a file that needs it stands", r, high)
}
