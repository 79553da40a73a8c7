SELECT d.at, d.what, d.subject, d.actor, d.reason
  FROM ({{decisions}}) AS d
 WHERE ($1::timestamptz IS NULL OR d.at >= $1)
   AND ($2::timestamptz IS NULL OR d.at < $2)
   AND ($3::text = '' OR d.actor = $3)
   AND (cardinality($4::text[]) = 0 OR d.what = ANY ($4) OR split_part(d.what, '.', 1) = ANY ($4))
 ORDER BY d.at {{order}}, d.what {{order}}, d.id {{order}}
 LIMIT nullif($5::bigint, 0)
