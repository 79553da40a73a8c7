CREATE TABLE doors (id bigint PRIMARY KEY);
