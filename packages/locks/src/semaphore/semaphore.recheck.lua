#!lua flags=allow-oom
-- Repairs what a lost message, a lost queue or a dead holder left behind: waiters that are missing from the queue get
-- their old places back, those that were granted their permits and don't know it have their claims lengthened and are
-- told, those that want more than the limit are refused, and what is free goes to the first who wait. When the state was
-- lost, holders may still rely on it: then nothing is granted until they have renewed or their leases must be over.
-- Repeating a call is safe. O((waiters + expired + granted) · log n).
--
-- KEYS
--   permits      ZSET holder -> end of its lease (µs); 7 days from the last grant or renewal
--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check
--   state        STRING, see semaphore.state.part.lua; 7 days from the last grant, renewal or new limit
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   callerLimit  the limit of a semaphore that has none any more
--   quarantineMs  how long a lost holder may still be there (ms)
--   waiters...   two for each: place, member
-- RETURNS
--   now (µs), when the next permit may come free (ms; -1: more to do, call again; -2: all are free), limit, how many
--   waiters were missing, then two for each waiter that waits no more: its number (from 1), and its fencing token, or 0
--   if it wants more than the limit
local permits, queue, state = KEYS[1], KEYS[2], KEYS[3]
local publish, callerLimit, quarantineMs = ARGV[1], ARGV[2], ARGV[3]
local QUEUE_MS = '60000'

-- include semaphore.state.part.lua
-- include semaphore.change.part.lua
-- include semaphore.witness.part.lua

clock()
local replies = {now, 0, limit, 0}
local places = {}
for i = 4, #ARGV, 2 do
  local place, member = ARGV[i], ARGV[i + 1]
  isWitness(tonumber(place), quarantineMs, 0)
  local ended
  if used > 0 and redis.call('ZSCORE', permits, member) then
    redis.call('ZADD', permits, 'GT', now + string.match(member, '%.(%d+)%.%d+$') * 1000, member)
    isChanged, hasNewPermits = true, true
    ended = mint()
  elseif weightOf(member) > limit then
    redis.call('ZREM', queue, member)
    ended = 0
  else
    places[#places + 1] = place
    places[#places + 1] = member
  end
  if ended then
    replies[#replies + 1] = (i - 2) / 2
    replies[#replies + 1] = ended
  end
end
if #places > 0 then
  replies[4] = redis.call('ZADD', queue, 'NX', unpack(places))
  redis.call('PEXPIRE', queue, QUEUE_MS)
end
local isQueued
-- include semaphore.expire.part.lua
-- include waiting.is-heard.part.lua
-- include semaphore.pump.part.lua
-- include semaphore.save.part.lua
-- include semaphore.remaining.part.lua

replies[2] = remainingMs
return replies
