-- Places of due tasks in a ranked queue. Expects: tasks, attempts, now, recordEvent, and task.record.part.lua.
-- include task.rank.part.lua
local AFTER_RANKS = string.format('(%.0f', RANKS_END)
local MOST_PLACED = 500

-- Due tasks of a priority take their places among the waiting ones; the rest of very many is placed by the next calls. To the ms, like
-- BullMQ's.
local function placeDue(ready, scheduled)
  local upTo = string.format('%.3f', now + 0.999)
  local ids = redis.call('ZRANGE', scheduled, AFTER_RANKS, upTo, 'BYSCORE', 'LIMIT', 0, MOST_PLACED)
  if #ids == 0 then
    return
  end
  redis.call('ZREM', scheduled, unpack(ids))
  local unranked = {}
  for i, record in ipairs(redis.call('HMGET', tasks, unpack(ids))) do
    local id = ids[i]
    if record then
      local _, payloadAt, extrasAt = nameOf(record)
      local rank = string.match(string.sub(record, extrasAt, payloadAt - 1), '^{"rank":(%d+)')
      if rank then
        placeByRank(scheduled, id, tonumber(rank), false)
      else
        unranked[#unranked + 1] = id
      end
      recordEvent('Y', id, '')
    else
      redis.call('HDEL', attempts, id)
    end
  end
  if #unranked > 0 then
    redis.call('RPUSH', ready, unpack(unranked))
  end
end
