#!lua flags=allow-oom
-- Deletes a latch, and notifies the waiters. O(1).
--
-- KEYS
--   latch        HASH epoch, count, remaining
--   ids          SET ids that have counted
--   updates      channel of the waiters; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
-- RETURNS
--   1 if the latch had begun, else 0
local latch, ids, updates = KEYS[1], KEYS[2], KEYS[3]
local publish = ARGV[1]

local hadBegun = redis.call('UNLINK', latch)
redis.call('UNLINK', ids)
if hadBegun == 1 then redis.call(publish, updates, '*:') end
return hadBegun
