-- A value is compared as text, so its form must not depend on who connects; and rows that a policy hides
-- would be duplicates that nobody sees.
SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', $1, true), set_config('row_security', 'off', true),
       set_config('datestyle', 'ISO', true), set_config('timezone', 'UTC', true), set_config('holdfast.repair', 'on', true)
