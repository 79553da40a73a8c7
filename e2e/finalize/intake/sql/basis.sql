SELECT jsonb_build_object('today', current_date, 'received_at', clock_timestamp())::text
