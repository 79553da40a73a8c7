-- +goose Up
CREATE TABLE orders (
  id    text   PRIMARY KEY,
  total bigint NOT NULL CHECK (total > 0)
);

-- +goose Down
DROP TABLE orders;
