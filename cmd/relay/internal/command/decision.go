package command

import (
	"fmt"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
)

// reasonRule is how long a reason may be, and where it stays.
type reasonRule struct {
	longest int // bytes; 0 where nobody gives one
	kept    string
}

var (
	keptInAudit     = reasonRule{1024, "kept in the audit"}
	keptInHistory   = reasonRule{1024, "kept in the history"}
	keptInResults   = reasonRule{1024, "kept in the results"}
	keptByConsumers = reasonRule{1000, "kept"}
	withoutReason   = reasonRule{}
)

// signature is who decides something, and why.
type signature struct {
	actor, reason string
	rule          reasonRule
}

// flags gives a command --actor, and --reason where one is kept.
func (s *signature) flags(c *cobra.Command, rule reasonRule) {
	s.rule = rule
	if rule.longest > 0 {
		c.Flags().StringVar(&s.reason, "reason", "", fmt.Sprintf("Why, 1 to %d bytes; %s", rule.longest, rule.kept))
	}
	c.Flags().StringVar(&s.actor, "actor", "", "Who does it, 1 to 255 bytes; the user of this machine if not given")
	inGroup(c, commonFlags, "reason", "actor")
}

// check refuses a decision that nobody has signed, before anything is connected to.
func (s *signature) check(cmd *cobra.Command, p Process) error {
	if s.actor == "" {
		s.actor = userName(p.Environ)
	}
	switch {
	case s.reason == "" && s.rule.longest > 0:
		return exit.Errorf(exit.Usage, "%s needs --reason", cmd.CommandPath()).WithHint("say why in a few words: they are %s", s.rule.kept)
	case len(s.reason) > s.rule.longest:
		return exit.Errorf(exit.Usage, "--reason has %d bytes: must be 1 to %d", len(s.reason), s.rule.longest)
	case s.actor == "" || len(s.actor) > 255:
		return exit.Errorf(exit.Usage, "--actor has %d bytes: must be 1 to 255", len(s.actor)).WithHint("say who does it: --actor NAME")
	}
	return nil
}

// decision is who decides something, why, and whether to ask.
type decision struct {
	signature
	apply, yes bool
}

// decisionFlags gives a command the flags of a decision. With bulk it also has --apply.
func decisionFlags(c *cobra.Command, rule reasonRule, bulk bool) *decision {
	d := &decision{}
	if bulk {
		c.Flags().BoolVar(&d.apply, "apply", false, "Do it; needed when flags choose")
	}
	c.Flags().BoolVar(&d.yes, "yes", false, "Do not ask")
	inGroup(c, commonFlags, "apply", "yes")
	d.flags(c, rule)
	return d
}

// userName is who uses this machine, by the environment first.
func userName(environ []string) string {
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		for _, pair := range environ {
			if text, found := strings.CutPrefix(pair, name+"="); found && text != "" {
				return text
			}
		}
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
