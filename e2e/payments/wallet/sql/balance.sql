-- Two entries of one wallet wait for each other here, and for nothing else.
INSERT INTO wallet.balance AS b (wallet, currency, cents)
VALUES ($1, $2, $3)
ON CONFLICT ON CONSTRAINT balance_pkey DO UPDATE SET cents = b.cents + EXCLUDED.cents
