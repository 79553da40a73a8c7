SELECT r.cents FROM perdiem.rate AS r WHERE r.region = $1
