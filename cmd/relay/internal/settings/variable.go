package settings

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Section is a group of settings that a command has or has not.
type Section string

// The sections, as they stand in the environment file.
const (
	Database  Section = "database"
	NATS      Section = "nats"
	Stream    Section = "stream"
	Drain     Section = "drain"
	Retention Section = "retention"
	HTTP      Section = "http"
	Holds     Section = "holds"
	Log       Section = "log"
)

// Sections returns all sections.
func Sections() []Section {
	return []Section{Database, NATS, Stream, Drain, Retention, HTTP, Holds, Log}
}

// Variable describes a variable that the command line reads.
type Variable struct {
	Name     string // with [Prefix]
	Flag     string // "" for a secret
	Section  Section
	Kind     string
	Default  string
	Example  string
	Values   []string
	Doc      string
	Secret   bool
	FileOf   string // the secret that it names a file for; "" for all others
	Fallback string
}

const fileSuffix = "_FILE"

// Variables returns every variable in the order of [Settings]; after a secret, the one
// that names a file for it. The slice is the caller's.
func Variables() []Variable { return slices.Clone(variables()) }

var variables = sync.OnceValue(func() []Variable {
	var all []Variable
	for f := range reflect.TypeFor[Settings]().Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("env"), ",")
		if name == "" {
			continue
		}
		v := Variable{
			Name:     Prefix + name,
			Section:  Section(f.Tag.Get("section")),
			Kind:     f.Tag.Get("kind"),
			Default:  strings.TrimPrefix(strings.TrimSpace(option), "default="),
			Example:  f.Tag.Get("example"),
			Doc:      f.Tag.Get("doc"),
			Secret:   f.Tag.Get("secret") == "true",
			Fallback: f.Tag.Get("fallback"),
		}
		if values := f.Tag.Get("values"); values != "" {
			v.Values = strings.Split(values, "|")
		}
		if !v.Secret {
			v.Flag = flagOf(v.Name)
			all = append(all, v)
			continue
		}
		file := v.Name + fileSuffix
		all = append(all, v, Variable{
			Name: file, Flag: flagOf(file), Section: v.Section, FileOf: v.Name,
			Doc: "File that holds " + v.Name + ". A newline at its end is not part of the secret.",
		})
	}
	return all
})

func flagOf(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, Prefix)), "_", "-")
}

func names() []string {
	all := make([]string, 0, len(variables()))
	for _, v := range variables() {
		all = append(all, v.Name)
	}
	return all
}
