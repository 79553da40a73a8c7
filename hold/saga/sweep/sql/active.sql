-- How quiet it was when the manifest was made, for whoever reviews it.
SELECT count(*) FROM {{.Schema}}.hold_generation AS g WHERE g.state = 'active'
