-- An index that is invalid, or on something else than its name says, does not constrain what it must.
WITH standing AS (
  SELECT a.attname, i.indrelid, i.indexrelid, i.indnkeyatts, i.indpred IS NULL AS whole
    FROM pg_catalog.pg_index AS i
    LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
   WHERE i.indisunique AND i.indisvalid AND i.indisready AND i.indislive
)
SELECT wanted.name, wanted.what, NULL::timestamptz + $1::interval
  FROM (VALUES
    ({{index}}, 'the unique index of the key',
     EXISTS (SELECT FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
              WHERE i.indrelid = to_regclass({{relation}}) AND c.relname = {{index}} AND {{is_index}})),
    ({{fact_column}}, 'a unique index of the column that names the fact',
     EXISTS (SELECT FROM standing AS s WHERE s.indrelid = to_regclass({{relation}}) AND s.attname = {{fact_column}} AND s.indnkeyatts = 1 AND s.whole)),
    ('consumer_fact_identity', 'the unique index of facts',
     EXISTS (SELECT FROM standing AS s WHERE s.indexrelid = to_regclass('{{schema}}.consumer_fact_identity')))
  ) AS wanted (name, what, there)
 WHERE NOT wanted.there
