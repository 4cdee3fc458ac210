#!lua flags=no-writes
-- The state of a semaphore. It recognizes up to 1,000 permits that expired and were not freed yet; further ones count as
-- used. O(maxHolders + expired + log n).
--
-- KEYS
--   permits      ZSET holder -> end of its lease (µs)
--   queue        ZSET waiter -> its place
--   state        STRING, see semaphore.state.part.lua
-- ARGV
--   callerLimit  the limit for a semaphore without one
--   maxHolders   maximum of holders in the reply
--   waiter       the member to rank; may be empty
-- RETURNS
--   limit, used permits, ms for which nothing is granted because the state was lost (0: none), waiters, the waiter's
--   rank from 0 or nil, for how long the first waiter has waited (ms, 0 without one), then two for each holder, by the ends of their leases: member, remaining lease (ms)
local permits, queue, state = KEYS[1], KEYS[2], KEYS[3]
local callerLimit, maxHolders, waiter = ARGV[1], ARGV[2], ARGV[3]

-- include semaphore.state.part.lua

clock()
local ended = redis.call('ZRANGE', permits, '-inf', now, 'BYSCORE', 'LIMIT', '0', 1000)
for _, member in ipairs(ended) do used = used - weightOf(member) end
if redis.call('EXISTS', permits) == 0 then used = 0 end
local first = redis.call('ZRANGE', queue, '0', '0', 'WITHSCORES')[2]
local replies = {
  limit,
  math.max(0, used),
  math.max(0, math.ceil((lostUntil - now) / 1000)),
  redis.call('ZCARD', queue),
  redis.call('ZRANK', queue, waiter),
  first and math.max(0, math.floor((now - first) / 1000)) or 0,
}
if used == 0 or maxHolders == '0' then return replies end
local from = '(' .. string.format('%.0f', now)
local holders = redis.call('ZRANGE', permits, from, '+inf', 'BYSCORE', 'LIMIT', '0', maxHolders, 'WITHSCORES')
for i = 1, #holders, 2 do
  replies[6 + i] = holders[i]
  replies[7 + i] = math.ceil((holders[i + 1] - now) / 1000)
end
return replies
