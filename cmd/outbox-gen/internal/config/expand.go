package config

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/gen"
)

const signs = "*?["

// expand replaces every service whose dir is a pattern by one for each folder that matches.
func (d *decoder) expand(c *gen.Config) {
	if !slices.ContainsFunc(c.Services, func(s gen.Service) bool { return strings.ContainsAny(s.Dir, signs) }) {
		return
	}
	root, err := os.OpenRoot(c.Root)
	if err != nil {
		d.at(position{1, 1}, "", "open the folder of the configuration: %v", err)
		return
	}
	defer func() { _ = root.Close() }() // it was only read
	old := d.places
	expanded := places{}
	for s, at := range old {
		if s.service < 0 {
			expanded[s] = at
		}
	}
	var services []gen.Service
	for i, s := range c.Services {
		all := []gen.Service{s}
		if strings.ContainsAny(s.Dir, signs) {
			all = d.match(root.FS(), i, s)
		}
		for _, one := range all {
			for place, at := range old {
				if place.service == i {
					place.service = len(services)
					expanded[place] = at
				}
			}
			services = append(services, one)
		}
	}
	c.Services = services
	clear(d.places)
	for s, at := range expanded {
		d.places[s] = at
	}
}

// match finds the folders of a pattern.
func (d *decoder) match(root fs.FS, i int, s gen.Service) []gen.Service {
	at := d.places.of(i, "dir", -1)
	if strings.Contains(s.Dir, "**") {
		d.at(at, "write one * for each folder, such as services/*/migrations", "dir %q: ** is not a pattern here", s.Dir)
		return nil
	}
	if !fs.ValidPath(s.Dir) {
		d.at(at, "name folders below the configuration file, such as services/*/migrations", "dir %q leads out of its folder, or is not in its shortest form", s.Dir)
		return nil
	}
	found, err := fs.Glob(root, s.Dir)
	if err != nil {
		d.at(at, "close every [, and write \\ for nothing", "dir %q is not a pattern: %v", s.Dir, err)
		return nil
	}
	var services []gen.Service
	for _, dir := range found {
		info, err := fs.Stat(root, dir)
		if err != nil || !info.IsDir() || hidden(dir) {
			continue
		}
		services = append(services, fill(s, dir))
	}
	if len(services) == 0 {
		d.at(at, "correct the pattern, or make the folders", "dir %q matches no folder", s.Dir)
	}
	return services
}

func hidden(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool { return strings.HasPrefix(part, ".") || part == "node_modules" })
}

// fill makes the service of one folder that the pattern of s matched.
func fill(s gen.Service, dir string) gen.Service {
	var parts []string
	matched := strings.Split(dir, "/")
	for k, part := range strings.Split(s.Dir, "/") {
		if strings.ContainsAny(part, signs) {
			parts = append(parts, matched[k])
		}
	}
	s.Dir = path.Clean(dir)
	if s.Name == "" {
		s.Name = strings.Join(parts, "-")
	}
	s.Name, s.Constants = stars(s.Name, parts), stars(s.Constants, parts)
	return s
}

// stars replaces each * by the next of the parts, and the last part when there are no more.
func stars(text string, parts []string) string {
	var out strings.Builder
	next := 0
	for _, r := range text {
		if r == '*' {
			fmt.Fprint(&out, parts[min(next, len(parts)-1)])
			next++
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}
