-- The state of a semaphore, and its clock. Expects permits, state, callerLimit ('0': the caller knows none).
-- The state is a STRING of eight numbers: limit, used permits, the last fencing token, the last instant of the clock and
-- what it runs ahead of the server's, when the state began, until when nothing is granted because what was known before
-- it was lost, how many permits of lost holders were heard of since; instants in µs. MessagePack takes 32 bytes and
-- 0.4 µs, text 60 bytes and 2.5 µs, and a HASH needs an EXPIRE of its own.
-- Anchored at the front, a pattern is found in half the time.
local function weightOf(member)
  return tonumber(string.match(member, '^[^.]*%.[^.]*%.[^.]*%.(%d+)$') or 1)
end

local MAX_COUNTED = 10000
local limit, used, token, at, ahead, began, lostUntil, heard = cmsgpack.unpack(redis.call('GET', state) or '')
local isNew = not limit
local isFresh = isNew
if isNew then
  limit, used, token, at, ahead, began, lostUntil, heard = 0, 0, 0, 0, 0, 0, 0, 0
  -- The state may be gone without the permits (evicted): nobody is lost then.
  for _, member in ipairs(redis.call('ZRANGE', permits, '0', MAX_COUNTED - 1)) do used = used + weightOf(member) end
  isFresh = used == 0
end
-- Who renews or releases may have come under an earlier limit; one that was lost is set by the next who acquires.
if limit == 0 and callerLimit ~= '0' then
  limit = tonumber(callerLimit)
  if heard >= limit then lostUntil = 0 end
end

local now = 0
-- The server's clock, but that it never goes back: when that of the server does, permits would outlast their leases by
-- as much. It then goes on from where it was.
local function clock()
  if now > 0 then return now end
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2] + ahead
  if now < at then
    ahead = ahead + at - now
    now = at
  end
  at = now
  if isFresh then began = now end
  return now
end
