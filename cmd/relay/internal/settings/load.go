package settings

import (
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/sethvargo/go-envconfig"

	"github.com/holdfast-dev/holdfast/cmd/internal/suggest"
)

// Sources are where values come from.
type Sources struct {
	Flags    map[string]string                 // the flags that were given, by the name of their variable
	Environ  []string                          // as [os.Environ] returns it
	ReadFile func(path string) ([]byte, error) // [os.ReadFile] if nil
}

// Need is something that a command does and that must be configured for it.
type Need int

// The needs.
const (
	NeedDatabase Need = iota // a database to connect to
	NeedNATS                 // servers, and at most one way to log in
	NeedStream               // the name of the stream
	NeedRelay                // everything that relay run uses
)

// Value is the text of a setting and where it comes from.
type Value struct {
	Variable
	Text   string // "" when nothing is set; secrets too, so print [Value.Shown]
	Origin Origin
}

// Origin says where a value comes from.
type Origin struct {
	Kind string // "flag", "env", "file", "default", or "" when there is no value
	Name string // the flag, variable or path
}

func (o Origin) String() string { return strings.TrimSpace(o.Kind + " " + o.Name) }

// Loaded is a configuration with its origins.
type Loaded struct {
	Settings
	Values []Value // one for each setting, in the order of [Settings]
}

// Load reads the settings and checks them for what the command needs. The error is an [*Error]
// with every problem; what could be read is returned with it.
func Load(src Sources, needs ...Need) (*Loaded, error) {
	if src.ReadFile == nil {
		src.ReadFile = os.ReadFile
	}
	l := &loader{src: src, env: map[string]string{}, refused: map[string]bool{}}
	for _, pair := range src.Environ {
		if name, text, ok := strings.Cut(pair, "="); ok && name != "" {
			l.env[name] = text
		}
	}
	l.refuseUnknown()
	loaded := &Loaded{}
	texts := map[string]string{}
	for _, v := range variables() {
		if v.FileOf != "" {
			continue
		}
		value := l.resolve(v)
		if v.Name == Prefix+"DATABASE_URL" && value.Text == "" {
			value.Origin = l.standard()
		}
		loaded.Values = append(loaded.Values, value)
		if value.Origin.Kind != "default" && value.Text != "" {
			texts[v.Name] = value.Text
		}
	}
	l.decode(loaded, texts)
	loaded.Rotated = rotated(loaded.Values, src.ReadFile)
	l.check(loaded, needs)
	return loaded, l.error()
}

type loader struct {
	faults
	src Sources
	env map[string]string
	// refused are the variables whose value was given and cannot be used.
	refused map[string]bool
}

// refuse reports the value of a setting, which counts as not set from then on.
func (l *loader) refuse(v Variable, hint, format string, args ...any) Value {
	l.add(hint, format, args...)
	l.refused[v.Name] = true
	return Value{Variable: v}
}

// refuseUnknown reports RELAY_ variables that are no settings.
func (l *loader) refuseUnknown() {
	known := names()
	short := make([]string, len(known)) // the prefix would make all of them look alike
	for i, name := range known {
		short[i] = strings.TrimPrefix(name, Prefix)
	}
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		if !strings.HasPrefix(name, Prefix) || slices.Contains(known, name) || fromKubernetes(name, l.env[name]) {
			continue
		}
		hint := "remove it; `relay config env` lists the settings"
		if near := suggest.Nearest(strings.TrimPrefix(name, Prefix), short); near != "" {
			hint = "did you mean " + Prefix + near + "?"
		}
		l.add(hint, "unknown variable %s", name)
	}
}

// resolve finds the text of a setting. A problem leaves it empty.
func (l *loader) resolve(v Variable) Value {
	if text, given := l.src.Flags[v.Name]; given {
		if strings.TrimSpace(text) == "" {
			return l.refuse(v, "leave the flag out to use the environment or the default", "--%s is empty", v.Flag)
		}
		return l.clean(Value{Variable: v, Text: text, Origin: Origin{"flag", "--" + v.Flag}})
	}
	file := v.Name + fileSuffix
	if path, given := l.src.Flags[file]; given && v.Secret {
		return l.read(v, path, "--"+flagOf(file))
	}
	text, path := l.env[v.Name], ""
	if v.Secret {
		path = l.env[file]
	}
	switch {
	case text != "" && strings.TrimSpace(text) == "":
		return l.refuse(v, "unset it to use the default", "%s is blank", v.Name)
	case text != "" && path != "":
		return l.refuse(v, "keep one of them", "%s and %s are both set", v.Name, file)
	case path != "":
		return l.read(v, path, file)
	case text != "":
		return l.clean(Value{Variable: v, Text: text, Origin: Origin{"env", v.Name}})
	case v.Fallback != "" && l.env[v.Fallback] != "":
		return l.clean(Value{Variable: v, Text: l.env[v.Fallback], Origin: Origin{"env", v.Fallback}})
	case v.Default != "":
		return Value{Variable: v, Text: v.Default, Origin: Origin{Kind: "default"}}
	default:
		return Value{Variable: v}
	}
}

// read takes a secret from a file.
func (l *loader) read(v Variable, path, from string) Value {
	data, err := l.src.ReadFile(path)
	if err != nil {
		return l.refuse(v, "check that the file exists and that this user may read it", "%s: cannot read the file: %v", from, err)
	}
	text := strings.TrimRight(string(data), "\r\n")
	if text == "" {
		return l.refuse(v, "write the secret into it", "%s: the file %s is empty", from, path)
	}
	return l.clean(Value{Variable: v, Text: text, Origin: Origin{"file", path}})
}

// clean refuses what could end a text early in a protocol that ends texts with a NUL.
func (l *loader) clean(v Value) Value {
	if strings.ContainsRune(v.Text, 0) {
		return l.refuse(v.Variable, "remove it", "%s has a NUL byte", v.named())
	}
	if v.Values != nil && !slices.Contains(v.Values, v.Text) {
		hint := "use " + strings.Join(v.Values, ", ")
		if near := suggest.Nearest(v.Text, v.Values); near != "" {
			hint = "did you mean " + near + "? " + hint
		}
		return l.refuse(v.Variable, hint, "%s: unknown value %q", v.named(), v.Text)
	}
	return v
}

// named is how a problem calls the value: by what somebody typed.
func (v Value) named() string {
	switch v.Origin.Kind {
	case "flag", "env":
		return v.Origin.Name
	case "file":
		return fmt.Sprintf("%s (from file %s)", v.Name, v.Origin.Name)
	default:
		return v.Name
	}
}

// decode fills the struct. go-envconfig stops at the first text that it cannot read; that one
// is reported and left out, and the rest is tried again. What it looked up last is what failed.
func (l *loader) decode(into *Loaded, texts map[string]string) {
	for {
		var last string
		lookup := envconfig.LookuperFunc(func(name string) (string, bool) {
			last = name
			text, ok := texts[name]
			return text, ok
		})
		into.Settings = Settings{}
		err := envconfig.ProcessWith(context.Background(), &envconfig.Config{
			Target: &into.Settings, Lookuper: envconfig.PrefixLookuper(Prefix, lookup),
		})
		if err == nil {
			break
		}
		v := into.value(last)
		if _, given := texts[last]; !given {
			l.add("this is a bug of this program", "default of %s: %v", last, err)
			return
		}
		l.refuse(v.Variable, kinds[v.Kind], "%s: %q cannot be read as a %s", v.named(), v.Text, v.Kind)
		delete(texts, last)
	}
	fields := reflect.ValueOf(into.Settings)
	for i := range fields.NumField() {
		kind := fields.Type().Field(i).Tag.Get("kind")
		switch v := into.value(Prefix + nameOf(fields.Type().Field(i))); {
		case kind == "" || v.Text == "":
		case kind == "number" && fields.Field(i).Int() < 0:
			l.refuse(v.Variable, kinds[kind], "%s: %q is negative", v.named(), v.Text)
		case kind != "number" && fields.Field(i).Int() <= 0:
			l.refuse(v.Variable, kinds[kind], "%s: %q is not positive", v.named(), v.Text)
		}
	}
}

// kinds says how a text of each kind is written.
var kinds = map[string]string{
	"duration": "write a duration such as 500ms, 10s or 5m",
	"count":    "write a whole number such as 100",
	"number":   "write a whole number such as 12, or 0",
	"size":     "write a number of bytes, or one with KiB, MiB or GiB such as 32MiB",
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("env"), ",")
	return name
}

// value returns the value of a variable.
func (l *Loaded) value(name string) Value {
	i := slices.IndexFunc(l.Values, func(v Value) bool { return v.Name == name })
	if i < 0 {
		return Value{Variable: Variable{Name: name}}
	}
	return l.Values[i]
}
