-- Grants the lock to the first waiters that fit: readers that follow one another, or one writer if nobody holds the lock.
-- Drops waiters whose client doesn't listen. With checksBlocked it also drops a dead writer that has waited for a second:
-- otherwise it would keep the readers after it waiting. Returns 1 if there may be more to grant, else
-- 0. A call that found only dead waiters returns 0: the re-check puts those back that didn't listen yet. Expects write,
-- readers, token, queue, publish, isListening, and no writer.
local function grantNext(checksBlocked)
  local MAX_READERS, MAX_DEAD, BLOCKED_US, TOKEN_MS = 64, 100, 1000000, '604800000'
  -- include server.time.part.lua
  local last = tonumber(redis.call('GET', token) or 0)
  -- After the clock was set back, it stands still until it has caught up.
  local now = math.max(time[1] * 1000000 + time[2], last)
  local channels = string.gsub(write, 'write$', 'rw-grant:')
  local looked, dead, longestMs, granted, writer, isDone = 0, 0, 0, {}, nil, false
  while not isDone do
    -- Usually one writer follows another. Only readers are granted in numbers.
    local heads = redis.call('ZRANGE', queue, looked, looked == 0 and 0 or looked + MAX_READERS - 2)
    isDone = #heads < (looked == 0 and 1 or MAX_READERS - 1)
    for _, head in ipairs(heads) do
      local client, acquisition, confirmMs, role = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)%.([rw])$')
      local isBlocked = role == 'w' and #granted > 0
      if role == 'w' and not isBlocked and redis.call('EXISTS', readers) == 1 then
        redis.call('ZREMRANGEBYSCORE', readers, '-inf', now)
        isBlocked = redis.call('EXISTS', readers) == 1
      end
      if isBlocked then
        -- A writer that has just come may not listen yet.
        local isOld = checksBlocked and #granted == 0 and now - redis.call('ZSCORE', queue, head) > BLOCKED_US
        if not isOld or isListening(channels .. client) then
          isDone = true
          break
        end
      end
      looked = looked + 1
      local fencingToken = math.max(now, last + 1)
      if client and not isBlocked and isListening(channels .. client) then
        local message = string.format('%s:%.0f:%.0f:%s.%s', acquisition, fencingToken, now, confirmMs, role)
        redis.call(publish, channels .. client, message)
        last = fencingToken
        if role == 'w' then
          writer, longestMs, isDone = head, confirmMs, true
          break
        end
        granted[#granted + 1] = now + confirmMs * 1000
        granted[#granted + 1] = head
        longestMs = math.max(longestMs, confirmMs)
      else
        dead = dead + 1
      end
      if #granted == 2 * MAX_READERS or dead == MAX_DEAD then
        isDone = true
        break
      end
    end
  end
  if looked > 0 then redis.call('ZREMRANGEBYRANK', queue, 0, looked - 1) end
  if writer then redis.call('SET', write, writer, 'PX', longestMs) end
  if #granted > 0 then
    redis.call('ZADD', readers, unpack(granted))
    if redis.call('PEXPIRE', readers, longestMs, 'NX') == 0 then redis.call('PEXPIRE', readers, longestMs, 'GT') end
  end
  if writer or #granted > 0 then redis.call('SET', token, last, 'PX', TOKEN_MS) end
  return #granted == 2 * MAX_READERS and 1 or 0
end
