-- migrate:up
CREATE TABLE users (id bigint PRIMARY KEY);

-- migrate:down
DROP TABLE users;
