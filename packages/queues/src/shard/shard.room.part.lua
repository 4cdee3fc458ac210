-- The most tasks of a shard, which has an equal share of the limit of the queue.
local MAX_TASKS = 10000000
local function mostTasks(settingsText)
  local most = tonumber(string.match(settingsText, ';max=(%d+)'))
  return most and math.floor(most / (tonumber(string.match(settingsText, ';shards=(%d+)')) or 1)) or MAX_TASKS
end
