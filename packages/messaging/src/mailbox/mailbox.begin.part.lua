-- Creates a mailbox with one device. Remains of a mailbox without a head (evicted, deleted by hand) would mix with new ids.
-- Expects mailbox, log, uncounted, ids, oldIds and expiring (keys), now, device.
redis.call('UNLINK', log, uncounted, ids, oldIds, expiring)
redis.call('ZADD', mailbox, '0', '\0b', 0 - now, '\0e', '0', '\0l', '0', '\0t', '0', device)
