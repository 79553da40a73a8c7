CREATE TABLE stock (id bigint PRIMARY KEY);
