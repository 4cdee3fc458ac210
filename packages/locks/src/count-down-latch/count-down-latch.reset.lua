#!lua flags=allow-oom
-- Deletes a latch, and notifies the waiters. Repeating a call is safe, since a later latch has another epoch. O(1).
--
-- KEYS
--   latch        HASH epoch, count, remaining
--   ids          SET ids that have counted
--   updates      channel of the waiters; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   epoch        of the latch to delete
-- RETURNS
--   1 if the latch was there, else 0
local latch, ids, updates = KEYS[1], KEYS[2], KEYS[3]
local publish, epoch = ARGV[1], ARGV[2]

if redis.call('HGET', latch, 'epoch') ~= epoch then return 0 end
redis.call('UNLINK', latch, ids)
redis.call(publish, updates, '*:')
return 1
