CREATE TABLE carts (id bigint PRIMARY KEY);

---- create above / drop below ----

DROP TABLE carts;
