-- +goose Up
ALTER TABLE orders ADD COLUMN paid boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE orders DROP COLUMN paid;
