#!lua flags=no-writes
-- The state of a lock. O(log (readers + waiters) + maxReaders).
--
-- KEYS
--   write        STRING the writer, or 'lost'
--   readers      ZSET reader, or 'lost.r' -> end of its lease (µs)
--   token        STRING last fencing token
--   queue        ZSET waiter -> its place
-- ARGV
--   waiter       the member to rank; may be empty
--   maxReaders   maximum of readers in the reply
-- RETURNS
--   the writer or nil, the last fencing token or 0, the time until the last lease ends (ms, -2 if there is none), waiters,
--   the waiter's rank from 0 or nil, for how long the first waiter has waited (ms, 0 without one), readers, then the names of
--   some
local write, readers, token, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local waiter, maxReaders = ARGV[1], tonumber(ARGV[2])
-- include server.time.part.lua
local last = tonumber(redis.call('GET', token) or 0)
local now = math.max(time[1] * 1000000 + time[2], last)
local writer = redis.call('GET', write)
local remainingMs = redis.call('PTTL', write)
local latest = tonumber(redis.call('ZRANGE', readers, -1, -1, 'WITHSCORES')[2] or 0)
if latest > now then remainingMs = math.max(remainingMs, math.ceil((latest - now) / 1000)) end
local count = redis.call('ZCOUNT', readers, now + 1, '+inf')
local isLost = tonumber(redis.call('ZSCORE', readers, 'lost.r') or 0) > now
local first = redis.call('ZRANGE', queue, '0', '0', 'WITHSCORES')[2]
local reply = {
  writer ~= 'lost' and writer,
  last,
  remainingMs,
  redis.call('ZCARD', queue),
  redis.call('ZRANK', queue, waiter),
  first and math.max(0, math.floor((now - first) / 1000)) or 0,
  isLost and count - 1 or count,
}
for _, reader in ipairs(redis.call('ZRANGE', readers, now + 1, '+inf', 'BYSCORE', 'LIMIT', 0, maxReaders + 1)) do
  if reader ~= 'lost.r' and #reply < 7 + maxReaders then reply[#reply + 1] = reader end
end
return reply
