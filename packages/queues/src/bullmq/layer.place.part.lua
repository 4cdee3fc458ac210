-- Puts a job of the BullMQ layer where workers find it. Expects: priorityKeys, layerMeta, now, time.
--
-- A job without a priority waits in the first ready list. One with a priority waits in the schedule of the second, at an instant
-- in the past that grows with its priority and with the order of its arrival: workers fetch due tasks by their instant. Priorities end at
-- 2^21 - 1, so the instants end at 1.68e12, in 2023; the step of 800,000 ms has room for 8e8 arrivals.
local STEP = 800000
local ARRIVALS = 800000000

-- A place: F at the end, L at the front, P<priority> by priority, D<ms> after a delay; D<ms>,<priority>.
-- Returns the instant of a delay, else nil.
local function place(id, where)
  local kind = string.sub(where, 1, 1)
  if kind == 'F' then
    redis.call('RPUSH', priorityKeys[1], id)
  elseif kind == 'L' then
    redis.call('LPUSH', priorityKeys[1], id)
  elseif kind == 'P' then
    local priority = tonumber(string.match(where, '^P(%d+)'))
    local arrival = string.find(where, 'L', 2, true) and 0 or redis.call('HINCRBY', layerMeta, 'arrivals', 1) % ARRIVALS
    redis.call('ZADD', priorityKeys[5], string.format('%.3f', priority * STEP + arrival / 1000), id)
  else
    local delay, priority = string.match(where, '^D(%d+),?(%d*)')
    local at = time[1] * 1000 + time[2] / 1000 + delay
    redis.call('ZADD', priorityKeys[priority ~= '' and 5 or 2], string.format('%.3f', at), id)
    return math.ceil(at)
  end
  return nil
end
