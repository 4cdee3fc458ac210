-- Places of tasks by rank, in a queue with `ranked=1` in its settings. Expects: nothing.
--
-- Other queues fetch the due tasks of a priority before its ready ones. In a ranked queue a due task waits with the others: by its rank,
-- a number at the front of its extras, or without one at the end of the ready list. Ranked tasks of a priority wait in its scheduled tasks,
-- at instants of January 1970 that grow with their rank. Rejected: a sorted set of their own, since each key costs every call 0.4 µs.
--
-- Ranks end at 2^21 - 1, and each has a second with room for 1e9 tasks, with places to the ns: the first one is in the middle, others before
-- or after those that wait. Beyond the room, tasks of one rank come in the order of their ids.
local RANK_STEP = 1000
local RANKS_END = 2097152000
local PLACE = 0.000001

-- Places a task after those of its rank, or before them.
local function placeByRank(scheduled, id, rank, isFront)
  local first = rank * RANK_STEP
  local last = first + RANK_STEP - PLACE
  local nearest
  if isFront then
    nearest = redis.call('ZRANGE', scheduled, first, last, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  else
    nearest = redis.call('ZRANGE', scheduled, last, first, 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  end
  local at = nearest and nearest + (isFront and -PLACE or PLACE) or first + RANK_STEP / 2
  redis.call('ZADD', scheduled, string.format('%.6f', math.max(first, math.min(last, at))), id)
end
