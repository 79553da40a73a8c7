CREATE INDEX visitors_first_seen ON visitors (first_seen);
