-- Puts a job of the BullMQ layer where workers find it. Expects: priorityKeys, time, and task.rank.part.lua.
--
-- A job without a priority waits in the first ready list. One with a priority has it as its rank among the tasks of the second priority.

-- A place: F at the end, L at the front, P<priority> by priority, P<priority>L before others of it, D<ms> after a delay; D<ms>,<priority>.
-- Returns the instant of a delay, else nil.
local function place(id, where)
  local kind = string.sub(where, 1, 1)
  if kind == 'F' then
    redis.call('RPUSH', priorityKeys[1], id)
  elseif kind == 'L' then
    redis.call('LPUSH', priorityKeys[1], id)
  elseif kind == 'P' then
    local priority, front = string.match(where, '^P(%d+)(L?)')
    placeByRank(priorityKeys[5], id, tonumber(priority), front == 'L')
  else
    local delay, priority = string.match(where, '^D(%d+),?(%d*)')
    local at = time[1] * 1000 + time[2] / 1000 + delay
    redis.call('ZADD', priorityKeys[priority ~= '' and 5 or 2], string.format('%.3f', at), id)
    return math.ceil(at)
  end
  return nil
end
