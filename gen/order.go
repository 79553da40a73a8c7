package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/gen/internal/tool"
)

// order wants every version of ours behind those that it needs, and no number used twice. It
// reports one drift, because the files can only be put in order together.
func (c *comparison) order() error {
	var refs []ref // in the order in which the tool runs them
	for _, i := range c.sorted() {
		if one := c.folder.files[i]; one.isOurs() && c.isWanted(i) && !slices.Contains(refs, one.ours) {
			refs = append(refs, one.ours)
		}
	}
	numbers, why, ok := c.numbers(refs)
	if why == "" {
		why = explainOrder(refs)
	}
	if !ok {
		c.add(Drift{File: c.path(c.folder.files[c.first(refs[0])].name), Kind: KindReordered, Detail: why, Mend: "give the files of outbox-gen numbers of their own, in the order of outbox-gen list"})
		return nil
	}
	moves := c.moves(rightOrder(refs), numbers)
	if len(moves) == 0 {
		return nil
	}
	if why == "" {
		why = "has another number than the rest of its version"
	}
	d := Drift{File: moves[0].from, Kind: KindReordered, Detail: why}
	var commands []string
	for _, m := range moves {
		commands = append(commands, "git mv "+quote(m.from)+" "+quote(m.to))
	}
	if c.tool.HasSum {
		commands = append(commands, hashCommand(c.service.Dir))
	}
	d.Mend = strings.Join(commands, " && ")
	c.add(d)
	return nil
}

// first is the index of the first file of a version.
func (c *comparison) first(r ref) int {
	for _, part := range c.tool.Parts {
		if i, there := c.present[r][part]; there {
			return i
		}
	}
	return -1
}

// numbers are the numbers that the versions have, ascending. One that a migration of the
// service has too, or another version, is replaced by a new one, and the reason is returned.
// It is not ok when no new one can be had.
func (c *comparison) numbers(refs []ref) (numbers []string, why string, ok bool) {
	places := newPlaces(c.folder, c.config.now())
	for _, r := range refs {
		i := c.first(r)
		number := c.folder.files[i].parsed.Number
		taken := slices.ContainsFunc(numbers, func(n string) bool { return c.tool.Compare(n, number) == 0 })
		if other := c.sharesNumber(i); other >= 0 || taken {
			if why == "" && other >= 0 {
				why = fmt.Sprintf("%s has the number of %s", c.folder.files[i].name, c.folder.files[other].name)
			} else if why == "" {
				why = fmt.Sprintf("%s has the number of another version", c.folder.files[i].name)
			}
			var err error
			if number, err = places.next(""); err != nil {
				return nil, why, false
			}
		}
		numbers = append(numbers, number)
	}
	slices.SortFunc(numbers, c.tool.Compare)
	return numbers, why, true
}

// sharesNumber finds a migration of the service with the number of one of our files; -1
// when there is none. A stranger under our name is reported as that.
func (c *comparison) sharesNumber(i int) int {
	return slices.IndexFunc(c.folder.files, func(other file) bool {
		return other.migration && !other.claims && c.tool.Compare(other.parsed.Number, c.folder.files[i].parsed.Number) == 0
	})
}

// move is a file that gets another number.
type move struct{ from, to string }

// moves gives the numbers to the versions, one after the other.
func (c *comparison) moves(right []ref, numbers []string) []move {
	var all []move
	for k, r := range right {
		for _, part := range c.tool.Parts {
			i, there := c.present[r][part]
			if !there {
				continue
			}
			name, number := c.folder.files[i].name, numbers[k]
			if c.folder.files[i].parsed.Number == number {
				continue
			}
			all = append(all, move{c.path(name), c.path(c.tool.FileName(number, r.String(), tool.Part(part)))})
		}
	}
	return all
}

// rightOrder sorts so that each version comes behind what it needs, and moves no more than
// that takes.
func rightOrder(refs []ref) []ref {
	var right []ref
	rest := slices.Clone(refs)
	for len(rest) > 0 {
		// What needs nothing of the rest; there always is one, because needs have no circles.
		k := slices.IndexFunc(rest, func(r ref) bool {
			return !slices.ContainsFunc(rest, func(other ref) bool { return other.before(r) })
		})
		right = append(right, rest[k])
		rest = slices.Delete(rest, k, k+1)
	}
	return right
}

// explainOrder names the first two versions that stand the wrong way round.
func explainOrder(refs []ref) string {
	for k, r := range refs {
		for _, later := range refs[k+1:] {
			if later.before(r) {
				return fmt.Sprintf("%s runs before %s, which it needs", r, later)
			}
		}
	}
	return ""
}
