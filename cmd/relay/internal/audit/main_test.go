package audit_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestMain(m *testing.M) { outboxtest.Main(m) }
