-- The state of a semaphore, and its clock. Expects permits, state, callerLimit ('0': the caller knows none).
-- The state is a STRING of eight numbers, instants in µs:
--   limit, used (permits), token (the last fencing token)
--   at (the last instant of the clock), ahead (how far the clock runs ahead of the server's)
--   began (when this state began), lostUntil (until when nothing is granted, because an earlier state was lost),
--   reported (how many permits lost holders have reported since)
-- MessagePack takes 32 bytes and 0.4 µs, text 60 bytes and 2.5 µs, and a HASH needs an EXPIRE of its own.
-- Anchored at the front, a pattern matches in half the time.
local function weightOf(member)
  return tonumber(string.match(member, '^[^.]*%.[^.]*%.[^.]*%.(%d+)$') or 1)
end

local MAX_COUNTED = 10000
local limit, used, token, at, ahead, began, lostUntil, reported = cmsgpack.unpack(redis.call('GET', state) or '')
local isNew = not limit
local isFresh = isNew
if isNew then
  limit, used, token, at, ahead, began, lostUntil, reported = 0, 0, 0, 0, 0, 0, 0, 0
  -- If only the state was evicted and not the permits, no holder is lost.
  for _, member in ipairs(redis.call('ZRANGE', permits, '0', MAX_COUNTED - 1)) do used = used + weightOf(member) end
  isFresh = used == 0
end
-- Only requests to acquire restore a lost limit: renewals and releases may come from users of an earlier limit.
if limit == 0 and callerLimit ~= '0' then
  limit = tonumber(callerLimit)
  if reported >= limit then lostUntil = 0 end
end

local now = 0
-- The server's clock, but never going back, since permits would then outlast their leases. After the server's clock was set
-- back, this one continues from its last value.
local function clock()
  if now > 0 then return now end
  -- include server.time.part.lua
  now = time[1] * 1000000 + time[2] + ahead
  if now < at then
    ahead = ahead + at - now
    now = at
  end
  at = now
  if isFresh then began = now end
  return now
end
