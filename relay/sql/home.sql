-- Whether the cluster that answers is the one in which the stored transaction ids mean something.
SELECT {{home}}
