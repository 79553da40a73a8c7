-- Values are compared as text; and rows that a policy hides would be missing.
SELECT set_config('datestyle', 'ISO', true), set_config('timezone', 'UTC', true), set_config('row_security', 'off', true)
