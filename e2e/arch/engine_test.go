package arch_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// pkg is what the rules need to know of a package.
type pkg struct {
	imports     []string // of its production files
	testImports []string // of its test files, in the package or beside it
}

// graph has this module's packages and all that they link, by import path.
type graph map[string]pkg

// violation says which rule a package breaks, and by what.
type violation struct {
	pkg    string
	rule   string // "room", "arrow", "outside", "cgo", or the name of a never rule
	target string
	hint   string
}

func (v violation) String() string {
	return fmt.Sprintf("%s: %s: %s: %s", v.pkg, v.rule, v.target, v.hint)
}

// check holds the graph against the table and returns every violation, in the
// order of the packages' paths.
func check(g graph) []violation {
	var found []violation
	for _, path := range slices.Sorted(maps.Keys(g)) {
		folder, isOurs := folderOf(path)
		if !isOurs {
			continue
		}
		from, known := roomOf(folder)
		if !known {
			found = append(found, violation{path, "room", folder,
				"no room covers this folder; decide what it is and add a line to rules_test.go"})
			continue
		}
		for _, target := range g[path].imports {
			found = append(found, checkImport(path, from, target)...)
		}
		for _, target := range g[path].testImports {
			found = append(found, checkTestImport(path, target)...)
		}
		found = append(found, checkLinked(g, path, from)...)
	}
	return found
}

// checkImport judges a direct import of production code.
func checkImport(path string, from room, target string) []violation {
	if target == "C" {
		return []violation{{path, "cgo", target, "holdfast is built without a C compiler"}}
	}
	if isStandard(target) {
		return nil
	}
	folder, isOurs := folderOf(target)
	if !isOurs {
		if matchesAny(from.outside, target) {
			return nil
		}
		return []violation{{path, "outside", target,
			"room " + from.path + " may not import this module; rules_test.go and docs/decisions say who may"}}
	}
	to, known := roomOf(folder)
	if !known || to.path == from.path || slices.Contains(from.rooms, "*") || slices.Contains(from.rooms, to.path) {
		return nil // an unknown room is reported as itself
	}
	return []violation{{path, "arrow", target, "no arrow leads from room " + from.path + " to room " + to.path}}
}

// checkTestImport judges a direct import of a test file. Tests may use every
// room, since no binary links them, but no module that nobody decided on.
func checkTestImport(path, target string) []violation {
	_, isOurs := folderOf(target)
	if isOurs || target != "C" && isStandard(target) || matchesAny(everything, target) {
		return nil
	}
	return []violation{{path, "outside", target, "a test may not import this module; docs/decisions has no reason for it"}}
}

// checkLinked judges all that a package links. One violation per rule is
// enough; its hint is the shortest chain of imports that leads there.
func checkLinked(g graph, path string, from room) []violation {
	var found []violation
	linked, via := g.linked(path)
	for _, rule := range nevers {
		if !slices.Contains(rule.from, from.path) {
			continue
		}
		at := slices.IndexFunc(linked, func(target string) bool { return matchesAny(rule.targets, target) })
		if at >= 0 {
			found = append(found, violation{path, rule.name, linked[at], rule.why + "; via " + chain(via, linked[at])})
		}
	}
	return found
}

// linked walks the imports breadth first. It returns the packages reached,
// nearest first, and for each of them the one that led to it.
func (g graph) linked(path string) (order []string, via map[string]string) {
	via = map[string]string{path: ""}
	for queue := []string{path}; len(queue) > 0; queue = queue[1:] {
		for _, next := range g[queue[0]].imports {
			if _, seen := via[next]; !seen {
				via[next] = queue[0]
				queue = append(queue, next)
				order = append(order, next)
			}
		}
	}
	return order, via
}

func chain(via map[string]string, target string) string {
	steps := []string{target}
	for at := via[target]; at != ""; at = via[at] {
		steps = append(steps, at)
	}
	slices.Reverse(steps)
	return strings.Join(steps, " -> ")
}

// folderOf returns the folder of one of this module's packages, "." for its root.
func folderOf(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// roomOf finds the room with the longest path that contains the folder.
func roomOf(folder string) (room, bool) {
	var best room
	for _, r := range rooms {
		if matches(r.path+"/...", folder) && len(r.path) > len(best.path) {
			best = r
		}
	}
	return best, best.path != ""
}

// isStandard knows the standard library by its paths, which have no domain.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, path) })
}

// matches reads a pattern as the go command does: "x/..." is x and all below it.
func matches(pattern, path string) bool {
	root, subtree := strings.CutSuffix(pattern, "/...")
	return path == root || subtree && strings.HasPrefix(path, root+"/")
}
