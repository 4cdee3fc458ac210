-- Releases the place of a task in its group, under the limits of groups. Expects: task.record.part.lua and
-- task.group.part.lua. Afterwards `hasFreed` says whether another task may run.
local hasFreed = false

local function releaseGroup(record)
  local group = groupOf(record)
  if group then
    leaveGroup(group)
    hasFreed = true
  end
end
