package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func rolesCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "roles",
		Short: "Print SQL for the least-privilege roles of a database",
		Long: effects("nothing.", "connects to a database, or makes a login.") +
			"\n\nThe roles are producer, relay, operator, maintainer, auditor, consumer and coordinator. Run the SQL as the owner of the schema,\n" +
			"in one transaction, and again after an upgrade: it gives each role its rights and takes all others on our\n" +
			"objects. Logins get the rights by membership. outbox-gen verify --role says whether they have them.",
		Example: "  outbox-gen roles\n  outbox-gen roles --service orders --role producer=orders_app",
	})
	what := addSchemaFlags(c, p)
	names := roleFlag(c, "Name of a role, ROLE=NAME; the name of the schema, _ and the role if not set")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		schema, err := what.read()
		if err != nil {
			return err
		}
		roles, err := names()
		if err != nil {
			return err
		}
		sql, err := gen.Roles(schema.Params, roles, schema.Components...)
		if err != nil {
			return exit.Errorf(exit.Usage, "%w", err)
		}
		_, err = fmt.Fprint(cmd.OutOrStdout(), sql)
		return err
	}
	return c
}

// roleFlag gives a command --role, and returns what it says.
func roleFlag(c *cobra.Command, usage string) func() (gen.RoleNames, error) {
	list := c.Flags().StringArray("role", nil, usage)
	inGroup(c, commonFlags, "role")
	return func() (gen.RoleNames, error) {
		names := gen.RoleNames{}
		for _, text := range *list {
			word, name, ok := strings.Cut(text, "=")
			if !ok || name == "" {
				return nil, exit.Errorf(exit.Usage, "--role %q is not ROLE=NAME", text).WithHint("such as --role relay=orders_relay")
			}
			role, err := canonical.ParseRole(word)
			if err != nil {
				return nil, unknown(exit.Usage, "role", word, roleWords(), "--role ")
			}
			if _, twice := names[role]; twice {
				return nil, exit.Errorf(exit.Usage, "--role names %s twice", role)
			}
			names[role] = name
		}
		return names, nil
	}
}

func roleWords() []string {
	var words []string
	for _, role := range canonical.Roles() {
		words = append(words, string(role))
	}
	return words
}

// schemaFlags are how a command is told a schema without a service, or by one.
type schemaFlags struct {
	p          Process
	path       func() string
	service    *string
	schema     *string
	components *[]string
}

func addSchemaFlags(c *cobra.Command, p Process) schemaFlags {
	f := schemaFlags{
		p: p, path: configFlag(c, p), service: serviceFlag(c),
		schema:     c.Flags().String("schema", "", "Database schema, that of the service or outbox if not set"),
		components: c.Flags().StringSlice("component", nil, "Components, those of the service or all if not set"),
	}
	inGroup(c, commonFlags, "schema", "component")
	complete(c, "component", componentNames())
	return f
}

// read returns the parameters and components that were named; what was not is zero.
func (f schemaFlags) read() (gen.Service, error) {
	var s gen.Service
	if *f.service != "" {
		file, err := load(f.p, f.path())
		if err != nil {
			return s, err
		}
		if s, err = service(file, *f.service); err != nil {
			return s, err
		}
		s = file.Config.Effective(s)
	}
	if *f.schema != "" {
		if !canonical.ValidIdentifier(*f.schema) {
			return s, exit.Errorf(exit.Usage, "--schema %q is not the name of a database schema", *f.schema).
				WithHint("lower-case letters, digits and _, 50 bytes at most")
		}
		s.Params.Schema = *f.schema
	}
	if len(*f.components) == 0 {
		return s, nil
	}
	s.Components = nil
	for _, name := range *f.components {
		c, err := canonical.ParseComponent(name)
		if err != nil {
			return s, unknown(exit.Usage, "component", name, componentNames(), "--component ")
		}
		s.Components = append(s.Components, c)
	}
	return s, nil
}
