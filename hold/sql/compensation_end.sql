-- In the transaction of compensation_begin, behind what the service did to the entity.
SELECT {{.Schema}}.compensation_end(operation => $1::text, generation => $2::integer, step_key => $3::text,
                                    actor => $4::text, outcome => $5::text, reason => $6::text)
