-- Race with the keeper whose turn it became: the token decides.
SELECT {{.Schema}}.hold_put_off(operation => $1::text, generation => $2::integer, token => $3::text, pause => $4::interval)
